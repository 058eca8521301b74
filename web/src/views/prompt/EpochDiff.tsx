// The changes between two frozen prompts of a conversation: added and removed layers, and a text diff.

import { api, unwrap } from "../../api/client";
import { useQuery } from "../../api/query";
import type { EpochText } from "../../api/schema";
import { showBidiControls } from "../../parts/bidi";
import { LazyDiff } from "../../parts/editor/LazyDiff";
import { count, plural } from "../../parts/format";
import { EmptyState, QueryResult } from "../../parts/states";
import type { Epoch } from "./EpochTable";

interface EpochDiffProps {
  conversation: string;
  from: number;
  to: number;
  epochs: Epoch[];
}

export function EpochDiff({ conversation, from, to, epochs }: EpochDiffProps) {
  const text = async (epoch: number, signal: AbortSignal) =>
    (
      await unwrap(
        api.GET("/api/v1/conversations/{id}/prompt", {
          params: { path: { id: conversation }, query: { epoch } },
          signal,
        }),
      )
    ).epoch ?? undefined;
  const query = useQuery(`${conversation} ${from} ${to}`, async (signal) => {
    const [before, after] = await Promise.all([text(from, signal), text(to, signal)]);
    return { before, after };
  });
  return (
    <QueryResult query={query} what="The frozen texts">
      {({ before, after }) => {
        if (!before || !after) return <EmptyState title="You may not see the text of this epoch." />;
        if (from === to) return <SingleEpoch epoch={after} />;
        return (
          <section class="changed" aria-label="What changed">
            <h2>
              Epoch {from} and epoch {to}
            </h2>
            <p>
              {showBidiControls(changes(before, after))} {tokensOf(from, to, epochs)}
            </p>
            <LazyDiff before={before.text} after={after.text} labels={[`Epoch ${from}`, `Epoch ${to}`]} />
          </section>
        );
      }}
    </QueryResult>
  );
}

function SingleEpoch({ epoch }: { epoch: EpochText }) {
  return (
    <section class="changed" aria-label="Frozen text">
      <h2>Epoch {epoch.number}</h2>
      <p class="quiet">
        Its frozen text, byte for byte, in {plural(epoch.blocks.length, "block")}. A comparison needs a second epoch.
      </p>
      <pre class="words card" tabIndex={0} aria-label={`Text of epoch ${epoch.number}`}>
        {showBidiControls(epoch.text)}
      </pre>
    </section>
  );
}

function changes(before: EpochText, after: EpochText): string {
  const layers = (epoch: EpochText) => epoch.blocks.flatMap((block) => block.layers);
  const gone = layers(before).filter((id) => !layers(after).includes(id));
  const came = layers(after).filter((id) => !layers(before).includes(id));
  const said = [
    gone.length > 0 && `Removed: ${gone.join(", ")}.`,
    came.length > 0 && `Added: ${came.join(", ")}.`,
  ].filter(Boolean);
  return said.length > 0 ? said.join(" ") : "The same layers in both.";
}

function tokensOf(from: number, to: number, epochs: Epoch[]): string {
  const tokens = (number: number) => epochs.find((epoch) => epoch.number === number)?.tokens;
  const [before, after] = [tokens(from), tokens(to)];
  // An epoch that is not in the list yet: its text is available, its token count is not.
  if (before === undefined || after === undefined) return "";
  const by = after - before;
  return by === 0 ? "The same number of tokens." : `${count(Math.abs(by))} tokens ${by > 0 ? "more" : "fewer"}.`;
}
