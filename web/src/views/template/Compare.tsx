// Any two versions, or one and what is being written, side by side: the source, or what the model reads.
import type { ComponentChildren } from "preact";
import { type Asking, useAsking } from "../../api/asking";
import type { TemplateVersion } from "../../api/schema";
import { inEditor } from "../../parts/drafts";
import { Diff } from "../../parts/editor/Diff";
import type { Occasion, Occasions } from "../../parts/occasion";
import { Busy, Empty, Told } from "../../parts/told";
import type { Comparison, Side } from "./address";
import { versionText } from "./asks";
import { OccasionChoice, useRendered } from "./Preview";

export interface CompareProps {
  comparison: Comparison;
  change: (comparison: Comparison) => void;
  versions: TemplateVersion[];
  /** What is in force, which may be no version: a file, or the program's own. */
  stored: { version: number; text: string };
  draft: { text: string; dirty: boolean };
  agents: Occasions["agents"];
  occasion: Occasion;
  choose: (occasion: Occasion) => void;
}

export function Compare({ comparison, change, versions, stored, draft, agents, occasion, choose }: CompareProps) {
  const before = useText(comparison.before, stored.text, draft.text);
  const after = useText(comparison.after, stored.text, draft.text);
  const labels: [string, string] = [sideWords(comparison.before, draft.dirty), sideWords(comparison.after, draft.dirty)];
  return (
    <section class="compare card" aria-label="Compare" id="compare">
      <h2>Compare</h2>
      <div class="row top">
        <SideChoice label="Before" side={comparison.before} versions={versions} dirty={draft.dirty} choose={(before) => change({ ...comparison, before })} />
        <SideChoice label="After" side={comparison.after} versions={versions} dirty={draft.dirty} choose={(after) => change({ ...comparison, after })} />
        <fieldset class="of">
          <legend class="quiet">Show</legend>
          {(["source", "rendered"] as const).map((of) => (
            <label key={of}><input type="radio" name="of" checked={comparison.of === of} onChange={() => change({ ...comparison, of })} /> {of === "source" ? "the source" : "what the model reads"}</label>
          ))}
        </fieldset>
      </div>
      {comparison.of === "source" ? (
        <Both before={before} after={after}>{(a, b) => <Diff before={a} after={b} labels={labels} />}</Both>
      ) : agents.length === 0 ? (
        <Empty title="No agent here uses the template"><p>So there is nothing that a model would read.</p></Empty>
      ) : (
        <>
          <OccasionChoice agents={agents} occasion={occasion} choose={choose} label="Rendered for" />
          <Both before={before} after={after}>{(a, b) => <RenderedDiff key={JSON.stringify([labels, occasion])} before={a} after={b} labels={labels} occasion={occasion} />}</Both>
        </>
      )}
    </section>
  );
}

function RenderedDiff({ before, after, labels, occasion }: { before: string; after: string; labels: [string, string]; occasion: Occasion }) {
  const a = useRendered(occasion, before);
  const b = useRendered(occasion, after);
  return <Both before={a} after={b}>{(a, b) => <Diff before={a.text} after={b.text} labels={[`${labels[0]}: ${a.tokens.total} tokens`, `${labels[1]}: ${b.tokens.total} tokens`]} />}</Both>;
}

/** Two answers, shown once both are there. */
function Both<T>({ before, after, children }: { before: Asking<T>; after: Asking<T>; children: (before: T, after: T) => ComponentChildren }) {
  const refused = before.refusal ? before : after.refusal ? after : undefined;
  if (refused?.refusal) return <Told refusal={refused.refusal} again={refused.again} />;
  if (before.value === undefined || after.value === undefined) return <Busy what="Comparing" />;
  return <>{children(before.value, after.value)}</>;
}

function useText(side: Side, inForce: string, draft: string): Asking<string> {
  const here = side === "draft" ? draft : side === 0 ? inForce : undefined;
  const stored = useAsking(here === undefined ? `template ${side}` : null, async (signal) => ({ side, text: inEditor(await versionText(Number(side), signal)) }));
  // While another version is on its way, the one before must not stand under its name.
  return here === undefined ? { ...stored, value: stored.value?.side === side ? stored.value.text : undefined } : { value: here, refusal: undefined, busy: false, again: () => {} };
}

function sideWords(side: Side, dirty: boolean): string {
  if (side === "draft") return dirty ? "Your unsaved text" : "What is in the editor";
  return side === 0 ? "In force now" : `Version ${side}`;
}

function SideChoice({ label, side, versions, dirty, choose }: { label: string; side: Side; versions: TemplateVersion[]; dirty: boolean; choose: (side: Side) => void }) {
  const known = side === "draft" || versions.some((version) => version.version === side);
  return (
    <label class="field">{label}
      <select value={String(side)} onChange={(event) => choose(event.currentTarget.value === "draft" ? "draft" : Number(event.currentTarget.value))}>
        <option value="draft">{sideWords("draft", dirty)}</option>
        {versions.map((version) => <option key={version.version} value={version.version}>{`Version ${version.version}${version.message ? `: ${version.message.slice(0, 40)}` : ""}`}</option>)}
        {!known && <option value={side}>{sideWords(side, dirty)}</option>}
      </select>
    </label>
  );
}
