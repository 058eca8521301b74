// The layers in the order the model reads them. Which can be changed shows in a word, a sign and the edge of the line.
import { useAsking } from "../../api/asking";
import type { LayerBody, LayerLine } from "../../api/schema";
import { When, count, tokens } from "../../parts/figures";
import { Stability } from "../../parts/marks";
import { href } from "../../shell/router";
import { type LayersOf, layer, weights } from "./asks";
import { Kind, writerWords } from "./words";

export function List({ of, current }: { of: LayersOf; current: string | undefined }) {
  const mutable = of.layers.filter((one) => one.mutable);
  // Who wrote a layer, and what it weighs, changes with its version.
  const versions = `${of.agent} ${mutable.map((one) => one.version).join(" ")}`;
  const weighed = useAsking(versions, (signal) => weights(of.agent, signal));
  const bodies = useAsking(versions, async (signal) => new Map(await Promise.all(mutable.map(async (one) => [one.id, await layer(of.agent, one.id, signal)] as const))));
  return (
    <ol class="layers" aria-label={`Layers of ${of.agent}, in the order the model reads them`}>
      {of.layers.map((one) => (
        <li key={one.id} data-kind={one.kind}>
          <a href={href("layers", [one.id], { agent: of.agent })} aria-current={one.id === current ? "true" : undefined}>
            <span class="row">
              <code class="id">{one.id}</code>
              <strong class="grow wrap">{one.title}</strong>
              <Kind of={one.kind} />
            </span>
            <Line one={one} weight={weighed.value?.get(one.id)} body={bodies.value?.get(one.id)} />
          </a>
        </li>
      ))}
    </ol>
  );
}

function Line({ one, weight, body }: { one: LayerLine; weight: number | undefined; body: LayerBody | undefined }) {
  const written = body?.current;
  return (
    <span class="row line quiet">
      <Stability of={one.stability} />
      {weight !== undefined && <span title="What it weighs in your own prompt">{tokens(weight)}</span>}
      {one.chars != null && <span>{count(one.chars)}{one.max_chars != null ? ` of ${count(one.max_chars)}` : ""} characters</span>}
      {one.version != null && <span>version {one.version}</span>}
      {written && <span>{writerWords(written.writer)}, <When at={written.at} /></span>}
      {one.newer_default != null && <span class="mark waiting" title="The program brings a newer text of its own; roll back to that version to use it">! version {one.newer_default} is a newer default</span>}
    </span>
  );
}
