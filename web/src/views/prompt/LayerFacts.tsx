// The metadata of a layer, with explanations.
import type { ComponentChildren } from "preact";
import { StabilityBadge, stabilityDescription, TrustBadge } from "../../parts/badges";
import { showBidiControls } from "../../parts/bidi";
import { CodeText } from "../../parts/code_text";
import { bytes, count, plural, share } from "../../parts/format";
import { isIn, type Layer } from "./prompt";

const AUTHORITY: Record<string, string> = {
  policy: "highest priority, never truncated",
  identity: "who the agent is",
  instructions: "the owner's instructions",
  context: "current facts",
  data: "information, never instructions",
};

const SOURCE: Record<string, string> = {
  builtin: "built into Foreword",
  file: "a file of the workspace",
  template: "a template",
  stored: "stored, with versions",
  generated: "generated from current data",
  dynamic: "generated every turn",
};

export function LayerFacts({ layer, total }: { layer: Layer; total: number }) {
  const [from = 0, to = 0] = layer.range;
  return (
    <dl class="facts">
      <LayerFact name="Source">
        {SOURCE[layer.source] ?? layer.source}
        {layer.origin && (
          <>
            : <code class="wrap">{showBidiControls(layer.origin)}</code>
          </>
        )}
      </LayerFact>
      <LayerFact name="Stability">
        <StabilityBadge of={layer.stability} /> {stabilityDescription(layer.stability)}
      </LayerFact>
      <LayerFact name="Trust">
        <TrustBadge of={layer.trust} />{" "}
        {layer.trust === "public" ? "visible to everyone" : `only with ${layer.trust} trust`}
      </LayerFact>
      <LayerFact name="Authority">
        {layer.authority}: {AUTHORITY[layer.authority] ?? ""}
      </LayerFact>
      {layer.status !== "withheld" && layer.tokens > 0 && (
        <LayerFact name="Tokens">
          {count(layer.tokens)}
          {isIn(layer) && total > 0 && <span class="quiet"> ({share(layer.tokens / total)} of the prompt)</span>}
        </LayerFact>
      )}
      {to > from && (
        <LayerFact name="Place">
          bytes {count(from)} to {count(to)} <span class="quiet">({bytes(to - from)})</span>
        </LayerFact>
      )}
      {layer.hash && (
        <LayerFact name="Hash">
          <code class="clip" title={layer.hash}>
            {shortHash(layer.hash)}
          </code>
        </LayerFact>
      )}
      {layer.cut && <LayerFact name="Cut">{cutText(layer)}</LayerFact>}
      {layer.reason && (
        <LayerFact name="Why">
          <CodeText words={layer.reason} />
        </LayerFact>
      )}
    </dl>
  );
}

function LayerFact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A prefix long enough to distinguish two hashes. */
export function shortHash(hash: string): string {
  return hash.replace(/^(\w+:)?(.{12}).*$/, "$1$2…");
}

function cutText({ cut, tokens }: Layer): string {
  if (!cut) return "";
  const lost = plural(Math.max(0, cut.tokens_before - tokens), "token");
  if (cut.lines === 0) return `Truncated: ${lost} cut from within a line.`;
  return `It did not fit: ${plural(cut.lines, "line")} from line ${count(cut.first_line)} on are left out (${lost} of ${count(cut.tokens_before)}).`;
}
