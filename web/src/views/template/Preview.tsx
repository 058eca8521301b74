// Previews the rendered text for an occasion, with its tokens and cost.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ApiError } from "../../api/client";
import { type Query, useDebounced, useQuery } from "../../api/query";
import { TrustBadge } from "../../parts/badges";
import { money, tokens } from "../../parts/format";
import { type Occasion, OccasionPicker, type Occasions } from "../../parts/occasion";
import { EmptyState, ErrorNotice, Loading } from "../../parts/states";
import { RenderedText } from "./RenderedText";
import { type Preview, preview } from "./requests";

/** Renders a text, debounced. */
export function useRendered(occasion: Occasion, text: string | undefined): Query<Preview> {
  const settled = useDebounced(text, 300);
  const key = settled === undefined || !occasion.agent ? null : JSON.stringify([occasion, settled]);
  return useQuery(key, (signal) => preview(occasion, settled ?? "", signal));
}

export interface PreviewProps {
  query: Query<Preview>;
  agents: Occasions["agents"];
  occasion: Occasion;
  choose: (occasion: Occasion) => void;
  /** Shown above the text: the cost of saving. */
  children?: ComponentChildren;
}

export function PreviewPane({ query, agents, occasion, choose, children }: PreviewProps) {
  const last = useRef<Preview | undefined>(undefined);
  useEffect(() => {
    if (query.value) last.current = query.value;
  }, [query.value]);
  const shown = query.value ?? last.current;
  return (
    <section class="card preview" aria-label="Preview">
      <h2>What the model reads</h2>
      <OccasionChoice agents={agents} occasion={occasion} choose={choose} label="Preview for" />
      {query.error && query.error.code !== "template_refused" && (
        <ErrorNotice error={query.error} reload={query.reload} />
      )}
      {query.error?.code === "template_refused" && <RenderError error={query.error} shown={!!shown} />}
      {shown ? (
        <Rendered preview={shown} old={!!query.error} busy={query.busy}>
          {children}
        </Rendered>
      ) : (
        !query.error && <Loading what="Preview" />
      )}
    </section>
  );
}

/** Some problems appear only when the template is rendered for an occasion, such as a missing value. */
function RenderError({ error, shown }: { error: ApiError; shown: boolean }) {
  return (
    <div class="callout waiting" role="status">
      <p>This text cannot be rendered.{shown ? " The last valid preview is below." : ""}</p>
      <ul>
        {error.problems.map((problem, at) => (
          <li key={at}>
            {problem.line ? `line ${problem.line}: ` : ""}
            {problem.message}
            {problem.help ? ` — ${problem.help}` : ""}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The occasion; includes the agent only if several use the template. */
export function OccasionChoice({
  agents,
  occasion,
  choose,
  label,
}: {
  agents: Occasions["agents"];
  occasion: Occasion;
  choose: (occasion: Occasion) => void;
  label: string;
}) {
  return (
    <div class="row top">
      {agents.length > 1 && (
        <label class="field">
          agent
          <select
            value={occasion.agent}
            onChange={(event) => choose({ ...occasion, agent: event.currentTarget.value })}
          >
            {agents.map((agent) => (
              <option key={agent.name} value={agent.name}>
                {agent.name}
              </option>
            ))}
          </select>
        </label>
      )}
      <div class="grow">
        <OccasionPicker
          value={occasion}
          change={(chosen) => choose({ ...chosen, agent: occasion.agent })}
          label={label}
          fields={["user", "situation", "channel", "model"]}
        />
      </div>
    </div>
  );
}

/** Problems the list below the editor shows already, with their positions. */
const SHOWN_BELOW = new Set([
  "unknown_variable_type",
  "unknown_variable_name",
  "misspelt_tag",
  "unmatched_tag",
  "unclosed_tag",
  "unreadable_file",
  "more_problems",
]);

function Rendered({
  preview,
  old,
  busy,
  children,
}: {
  preview: Preview;
  old: boolean;
  busy: boolean;
  children: ComponentChildren;
}) {
  const warnings = preview.warnings.filter((warning) => !SHOWN_BELOW.has(warning.code));
  const flat = preview.breakpoints?.length === 0 && preview.price?.cold === preview.price?.warm;
  return (
    <>
      <dl class="figures" aria-live="polite" aria-busy={busy}>
        <div>
          <dt>Size</dt>
          <dd>{tokens(preview.tokens.total)}</dd>
        </div>
        {preview.price && (
          <div>
            <dt title="Cost if nothing is cached yet">A cold turn</dt>
            <dd>{money(preview.price.cold)}</dd>
          </div>
        )}
        {preview.price && (
          <div>
            <dt title="Cost if the prompt is cached">A warm turn</dt>
            <dd>{money(preview.price.warm)}</dd>
          </div>
        )}
        <div>
          <dt title="The user's trust on this occasion">Trust</dt>
          <dd>
            <TrustBadge of={preview.trust.effective} />
          </dd>
        </div>
      </dl>
      {flat && <p class="quiet">Too short to be cached by this model, so both cost the same.</p>}
      {warnings.length > 0 && (
        <ul class="notes">
          {warnings.map((warning, at) => (
            <li key={at} class="wrap">
              <span class="badge waiting">! {warning.code.replaceAll("_", " ")}</span> {warning.message}
            </li>
          ))}
        </ul>
      )}
      {children}
      {preview.text === "" ? (
        <EmptyState title="No system prompt">
          <p>The template renders to an empty text.</p>
        </EmptyState>
      ) : (
        <RenderedText text={preview.text} old={old} />
      )}
    </>
  );
}
