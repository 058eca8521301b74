// What the model would read, if this text were saved: for one occasion, with its tokens and its price.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { type Asking, useAsking, useSettled } from "../../api/asking";
import type { Refusal } from "../../api/client";
import { money, tokens } from "../../parts/figures";
import { Trust } from "../../parts/marks";
import { type Occasion, OccasionPicker, type Occasions } from "../../parts/occasion";
import { Busy, Empty, Told } from "../../parts/told";
import { type Preview, preview } from "./asks";
import { RenderedText } from "./RenderedText";

/** The rendered result of a text; asked for once the typing rests. */
export function useRendered(occasion: Occasion, text: string | undefined): Asking<Preview> {
  const settled = useSettled(text, 300);
  const key = settled === undefined || !occasion.agent ? null : JSON.stringify([occasion, settled]);
  return useAsking(key, (signal) => preview(occasion, settled ?? "", signal));
}

export interface PreviewProps {
  asking: Asking<Preview>;
  agents: Occasions["agents"];
  occasion: Occasion;
  choose: (occasion: Occasion) => void;
  /** What stands above the text: what saving would cost. */
  children?: ComponentChildren;
}

export function PreviewPane({ asking, agents, occasion, choose, children }: PreviewProps) {
  const last = useRef<Preview | undefined>(undefined);
  useEffect(() => { if (asking.value) last.current = asking.value; }, [asking.value]);
  const shown = asking.value ?? last.current;
  return (
    <section class="card preview" aria-label="Preview">
      <h2>What the model reads</h2>
      <OccasionChoice agents={agents} occasion={occasion} choose={choose} label="Preview for" />
      {asking.refusal && asking.refusal.code !== "template_refused" && <Told refusal={asking.refusal} again={asking.again} />}
      {asking.refusal?.code === "template_refused" && <NotYet refusal={asking.refusal} shown={!!shown} />}
      {shown ? <Rendered preview={shown} old={!!asking.refusal} busy={asking.busy}>{children}</Rendered> : !asking.refusal && <Busy what="Preview" />}
    </section>
  );
}

/** Some problems show only when a text is filled in for somebody, such as a value that is not there. */
function NotYet({ refusal, shown }: { refusal: Refusal; shown: boolean }) {
  return (
    <div class="told waiting" role="status">
      <p>This text can't be used yet.{shown ? " Below is the last one that could." : ""}</p>
      <ul>{refusal.problems.map((problem, at) => <li key={at}>{problem.line ? `line ${problem.line}: ` : ""}{problem.message}{problem.help ? ` — ${problem.help}` : ""}</li>)}</ul>
    </div>
  );
}

/** Who it is for; the agent only where several use the template. */
export function OccasionChoice({ agents, occasion, choose, label }: { agents: Occasions["agents"]; occasion: Occasion; choose: (occasion: Occasion) => void; label: string }) {
  return (
    <div class="row top">
      {agents.length > 1 && (
        <label class="field">agent
          <select value={occasion.agent} onChange={(event) => choose({ ...occasion, agent: event.currentTarget.value })}>
            {agents.map((agent) => <option key={agent.name} value={agent.name}>{agent.name}</option>)}
          </select>
        </label>
      )}
      <div class="grow"><OccasionPicker value={occasion} change={(chosen) => choose({ ...chosen, agent: occasion.agent })} label={label} fields={["user", "situation", "channel", "model"]} /></div>
    </div>
  );
}

/** What the list below the editor says already, with its place. */
const SAID_BELOW = new Set(["unknown_variable_type", "unknown_variable_name", "misspelt_tag", "unmatched_tag", "unclosed_tag", "unreadable_file", "more_problems"]);

function Rendered({ preview, old, busy, children }: { preview: Preview; old: boolean; busy: boolean; children: ComponentChildren }) {
  const warnings = preview.warnings.filter((warning) => !SAID_BELOW.has(warning.code));
  const flat = preview.breakpoints?.length === 0 && preview.price?.cold === preview.price?.warm;
  return (
    <>
      <dl class="figures" aria-live="polite" aria-busy={busy}>
        <div><dt>Weighs</dt><dd>{tokens(preview.tokens.total)}</dd></div>
        {preview.price && <div><dt title="Nothing is cached yet">A cold turn</dt><dd>{money(preview.price.cold)}</dd></div>}
        {preview.price && <div><dt title="The provider's cache still holds the prompt">A warm turn</dt><dd>{money(preview.price.warm)}</dd></div>}
        <div><dt title="How much this person is trusted here">Trust</dt><dd><Trust of={preview.trust.effective} /></dd></div>
      </dl>
      {flat && <p class="quiet">By itself it is not cached with this model, so both cost the same.</p>}
      {warnings.length > 0 && (
        <ul class="notes">{warnings.map((warning, at) => <li key={at} class="wrap"><span class="mark waiting">! {warning.code.replaceAll("_", " ")}</span> {warning.message}</li>)}</ul>
      )}
      {children}
      {preview.text === "" ? (
        <Empty title="Nothing is sent"><p>A template that renders to nothing means no system prompt.</p></Empty>
      ) : (
        <RenderedText text={preview.text} old={old} />
      )}
    </>
  );
}
