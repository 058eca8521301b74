// What changed between two frozen prompts of one conversation: which layers came and went, and the words.
import { useAsking } from "../../api/asking";
import { api, asked } from "../../api/client";
import type { EpochText } from "../../api/schema";
import { DiffLater } from "../../parts/editor/DiffLater";
import { count, many } from "../../parts/figures";
import { Answered, Empty } from "../../parts/told";
import { visible } from "../../parts/visible";
import type { Epoch } from "./EpochTable";

interface EpochDiffProps {
  conversation: string;
  from: number;
  to: number;
  epochs: Epoch[];
}

export function EpochDiff({ conversation, from, to, epochs }: EpochDiffProps) {
  const text = async (epoch: number, signal: AbortSignal) =>
    (await asked(api.GET("/api/v1/conversations/{id}/prompt", { params: { path: { id: conversation }, query: { epoch } }, signal }))).epoch ?? undefined;
  const asking = useAsking(`${conversation} ${from} ${to}`, async (signal) => {
    const [before, after] = await Promise.all([text(from, signal), text(to, signal)]);
    return { before, after };
  });
  return (
    <Answered asking={asking} what="The frozen texts">
      {({ before, after }) => {
        if (!before || !after) return <Empty title="The text of this epoch is not yours to see." />;
        if (from === to) return <Alone epoch={after} />;
        return (
          <section class="changed" aria-label="What changed">
            <h2>Epoch {from} and epoch {to}</h2>
            <p>{visible(changes(before, after))} {weight(from, to, epochs)}</p>
            <DiffLater before={before.text} after={after.text} labels={[`Epoch ${from}`, `Epoch ${to}`]} />
          </section>
        );
      }}
    </Answered>
  );
}

function Alone({ epoch }: { epoch: EpochText }) {
  return (
    <section class="changed" aria-label="Frozen text">
      <h2>Epoch {epoch.number}</h2>
      <p class="quiet">Its frozen text, byte for byte, in {many(epoch.blocks.length, "block")}. With a second epoch there will be something to compare it with.</p>
      <pre class="words card" tabIndex={0} aria-label={`Text of epoch ${epoch.number}`}>{visible(epoch.text)}</pre>
    </section>
  );
}

function changes(before: EpochText, after: EpochText): string {
  const layers = (epoch: EpochText) => epoch.blocks.flatMap((block) => block.layers);
  const gone = layers(before).filter((id) => !layers(after).includes(id));
  const came = layers(after).filter((id) => !layers(before).includes(id));
  const said = [gone.length > 0 && `Gone: ${gone.join(", ")}.`, came.length > 0 && `New: ${came.join(", ")}.`].filter(Boolean);
  return said.length > 0 ? said.join(" ") : "The same layers in both.";
}

function weight(from: number, to: number, epochs: Epoch[]): string {
  const tokens = (number: number) => epochs.find((epoch) => epoch.number === number)?.tokens;
  const [before, after] = [tokens(from), tokens(to)];
  // One that is not listed yet: its text is there, its weight is not.
  if (before === undefined || after === undefined) return "";
  const by = after - before;
  return by === 0 ? "As many tokens as before." : `${count(Math.abs(by))} tokens ${by > 0 ? "more" : "fewer"}.`;
}
