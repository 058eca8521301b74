// The layers in prompt order. A word, a symbol and the border show which ones can be edited.
import { useQuery } from "../../api/query";
import type { LayerBody, LayerLine } from "../../api/schema";
import { StabilityBadge } from "../../parts/badges";
import { count, Timestamp, tokens } from "../../parts/format";
import { href } from "../../shell/router";
import { authorText, KindBadge } from "./labels";
import { type LayersOf, layer, tokenCounts } from "./requests";

export function LayerList({ of, current }: { of: LayersOf; current: string | undefined }) {
  const mutable = of.layers.filter((one) => one.mutable);
  // The author and the token count change with the version.
  const versions = `${of.agent} ${mutable.map((one) => one.version).join(" ")}`;
  const weighed = useQuery(versions, (signal) => tokenCounts(of.agent, signal));
  const bodies = useQuery(
    versions,
    async (signal) =>
      new Map(await Promise.all(mutable.map(async (one) => [one.id, await layer(of.agent, one.id, signal)] as const))),
  );
  return (
    <ol class="layers" aria-label={`Layers of ${of.agent}, in the order the model reads them`}>
      {of.layers.map((one) => (
        <li key={one.id} data-kind={one.kind}>
          <a
            href={href("layers", [one.id], { agent: of.agent })}
            aria-current={one.id === current ? "true" : undefined}
          >
            <span class="row">
              <code class="id">{one.id}</code>
              <strong class="grow wrap">{one.title}</strong>
              <KindBadge of={one.kind} />
            </span>
            <LayerRow one={one} weight={weighed.value?.get(one.id)} body={bodies.value?.get(one.id)} />
          </a>
        </li>
      ))}
    </ol>
  );
}

function LayerRow({ one, weight, body }: { one: LayerLine; weight: number | undefined; body: LayerBody | undefined }) {
  const written = body?.current;
  return (
    <span class="row line quiet">
      <StabilityBadge of={one.stability} />
      {weight !== undefined && <span title="Tokens in your own prompt">{tokens(weight)}</span>}
      {one.chars != null && (
        <span>
          {count(one.chars)}
          {one.max_chars != null ? ` of ${count(one.max_chars)}` : ""} characters
        </span>
      )}
      {one.version != null && <span>version {one.version}</span>}
      {written && (
        <span>
          {authorText(written.writer)}, <Timestamp at={written.at} />
        </span>
      )}
      {one.newer_default != null && (
        <span class="badge waiting" title="The program has a newer built-in text; roll back to that version to use it">
          ! version {one.newer_default} is a newer default
        </span>
      )}
    </span>
  );
}
