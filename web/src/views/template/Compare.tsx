// Compares two versions, or a version and the draft: as source, or as rendered text.
import type { ComponentChildren } from "preact";
import { type Query, useQuery } from "../../api/query";
import type { TemplateVersion } from "../../api/schema";
import { normalizeLineEndings } from "../../parts/drafts";
import { Diff } from "../../parts/editor/Diff";
import type { Occasion, Occasions } from "../../parts/occasion";
import { EmptyState, ErrorNotice, Loading } from "../../parts/states";
import { OccasionChoice, useRendered } from "./Preview";
import { versionText } from "./requests";
import type { Comparison, Side } from "./url_state";

export interface CompareProps {
  comparison: Comparison;
  change: (comparison: Comparison) => void;
  versions: TemplateVersion[];
  /** The text in force, which may not be a stored version: a file, or the built-in default. */
  stored: { version: number; text: string };
  draft: { text: string; dirty: boolean };
  agents: Occasions["agents"];
  occasion: Occasion;
  choose: (occasion: Occasion) => void;
}

export function Compare({ comparison, change, versions, stored, draft, agents, occasion, choose }: CompareProps) {
  const before = useText(comparison.before, stored.text, draft.text);
  const after = useText(comparison.after, stored.text, draft.text);
  const labels: [string, string] = [sideText(comparison.before, draft.dirty), sideText(comparison.after, draft.dirty)];
  return (
    <section class="compare card" aria-label="Compare" id="compare">
      <h2>Compare</h2>
      <div class="row top">
        <SideChoice
          label="Before"
          side={comparison.before}
          versions={versions}
          dirty={draft.dirty}
          choose={(before) => change({ ...comparison, before })}
        />
        <SideChoice
          label="After"
          side={comparison.after}
          versions={versions}
          dirty={draft.dirty}
          choose={(after) => change({ ...comparison, after })}
        />
        <fieldset class="of">
          <legend class="quiet">Show</legend>
          {(["source", "rendered"] as const).map((of) => (
            <label key={of}>
              <input
                type="radio"
                name="of"
                checked={comparison.of === of}
                onChange={() => change({ ...comparison, of })}
              />{" "}
              {of === "source" ? "the source" : "rendered text"}
            </label>
          ))}
        </fieldset>
      </div>
      {comparison.of === "source" ? (
        <Both before={before} after={after}>
          {(a, b) => <Diff before={a} after={b} labels={labels} />}
        </Both>
      ) : agents.length === 0 ? (
        <EmptyState title="No agent here uses the template">
          <p>There is no rendered text.</p>
        </EmptyState>
      ) : (
        <>
          <OccasionChoice agents={agents} occasion={occasion} choose={choose} label="Rendered for" />
          <Both before={before} after={after}>
            {(a, b) => (
              <RenderedDiff
                key={JSON.stringify([labels, occasion])}
                before={a}
                after={b}
                labels={labels}
                occasion={occasion}
              />
            )}
          </Both>
        </>
      )}
    </section>
  );
}

function RenderedDiff({
  before,
  after,
  labels,
  occasion,
}: {
  before: string;
  after: string;
  labels: [string, string];
  occasion: Occasion;
}) {
  const a = useRendered(occasion, before);
  const b = useRendered(occasion, after);
  return (
    <Both before={a} after={b}>
      {(a, b) => (
        <Diff
          before={a.text}
          after={b.text}
          labels={[`${labels[0]}: ${a.tokens.total} tokens`, `${labels[1]}: ${b.tokens.total} tokens`]}
        />
      )}
    </Both>
  );
}

/** Two results, shown once both are loaded. */
function Both<T>({
  before,
  after,
  children,
}: {
  before: Query<T>;
  after: Query<T>;
  children: (before: T, after: T) => ComponentChildren;
}) {
  const refused = before.error ? before : after.error ? after : undefined;
  if (refused?.error) return <ErrorNotice error={refused.error} reload={refused.reload} />;
  if (before.value === undefined || after.value === undefined) return <Loading what="Loading both texts" />;
  return <>{children(before.value, after.value)}</>;
}

function useText(side: Side, inForce: string, draft: string): Query<string> {
  const here = side === "draft" ? draft : side === 0 ? inForce : undefined;
  const stored = useQuery(here === undefined ? `template ${side}` : null, async (signal) => ({
    side,
    text: normalizeLineEndings(await versionText(Number(side), signal)),
  }));
  // Do not show the old version under the new label while the new one loads.
  return here === undefined
    ? { ...stored, value: stored.value?.side === side ? stored.value.text : undefined }
    : { value: here, error: undefined, busy: false, reload: () => {} };
}

function sideText(side: Side, dirty: boolean): string {
  if (side === "draft") return dirty ? "Your unsaved text" : "Editor text";
  return side === 0 ? "In force" : `Version ${side}`;
}

function SideChoice({
  label,
  side,
  versions,
  dirty,
  choose,
}: {
  label: string;
  side: Side;
  versions: TemplateVersion[];
  dirty: boolean;
  choose: (side: Side) => void;
}) {
  const known = side === "draft" || versions.some((version) => version.version === side);
  return (
    <label class="field">
      {label}
      <select
        value={String(side)}
        onChange={(event) =>
          choose(event.currentTarget.value === "draft" ? "draft" : Number(event.currentTarget.value))
        }
      >
        <option value="draft">{sideText("draft", dirty)}</option>
        {versions.map((version) => (
          <option
            key={version.version}
            value={version.version}
          >{`Version ${version.version}${version.message ? `: ${version.message.slice(0, 40)}` : ""}`}</option>
        ))}
        {!known && <option value={side}>{sideText(side, dirty)}</option>}
      </select>
    </label>
  );
}
