// What is known of a layer, each with what it means.
import type { ComponentChildren } from "preact";
import { bytes, count, many, share } from "../../parts/figures";
import { Stability, Trust, stabilityMeans } from "../../parts/marks";
import { Ticked } from "../../parts/ticked";
import { visible } from "../../parts/visible";
import { type Layer, isIn } from "./prompt";

const AUTHORITY: Record<string, string> = {
  policy: "nothing overrules it, and it is never cut",
  identity: "who the agent is",
  instructions: "what the owner wants done",
  context: "what is true here and now",
  data: "information only, never an order",
};

const SOURCE: Record<string, string> = {
  builtin: "built into Foreword",
  file: "a file of the workspace",
  template: "a template",
  stored: "stored, with versions",
  generated: "made from what is there",
  dynamic: "made anew each turn",
};

export function Facts({ layer, total }: { layer: Layer; total: number }) {
  const [from = 0, to = 0] = layer.range;
  return (
    <dl class="facts">
      <Fact name="Source">{SOURCE[layer.source] ?? layer.source}{layer.origin && <>: <code class="wrap">{visible(layer.origin)}</code></>}</Fact>
      <Fact name="Stability"><Stability of={layer.stability} /> {stabilityMeans(layer.stability)}</Fact>
      <Fact name="Trust"><Trust of={layer.trust} /> {layer.trust === "public" ? "anybody may see it" : `only with ${layer.trust} trust`}</Fact>
      <Fact name="Authority">{layer.authority}: {AUTHORITY[layer.authority] ?? ""}</Fact>
      {layer.status !== "withheld" && layer.tokens > 0 && (
        <Fact name="Tokens">{count(layer.tokens)}{isIn(layer) && total > 0 && <span class="quiet"> ({share(layer.tokens / total)} of the prompt)</span>}</Fact>
      )}
      {to > from && <Fact name="Place">bytes {count(from)} to {count(to)} <span class="quiet">({bytes(to - from)})</span></Fact>}
      {layer.hash && <Fact name="Hash"><code class="clip" title={layer.hash}>{shortHash(layer.hash)}</code></Fact>}
      {layer.cut && <Fact name="Cut">{cutWords(layer)}</Fact>}
      {layer.reason && <Fact name="Why"><Ticked words={layer.reason} /></Fact>}
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return <div><dt>{name}</dt><dd>{children}</dd></div>;
}

/** Enough of it to tell two apart. */
export function shortHash(hash: string): string {
  return hash.replace(/^(\w+:)?(.{12}).*$/, "$1$2…");
}

function cutWords({ cut, tokens }: Layer): string {
  if (!cut) return "";
  const lost = many(Math.max(0, cut.tokens_before - tokens), "token");
  if (cut.lines === 0) return `It did not fit: ${lost} are left out of the middle of a line.`;
  return `It did not fit: ${many(cut.lines, "line")} from line ${count(cut.first_line)} on are left out (${lost} of ${count(cut.tokens_before)}).`;
}
