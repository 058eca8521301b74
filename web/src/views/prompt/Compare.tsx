// Compares two occasions: two stacks aligned by layer, a summary of the differences, and a text diff on demand.
import { useState } from "preact/hooks";
import { useQuery } from "../../api/query";
import {
  type Occasion,
  OccasionPicker,
  type Occasions,
  occasionIn,
  occasionQuery,
  useOccasions,
} from "../../parts/occasion";
import { ErrorNotice, QueryResult } from "../../parts/states";
import { type Session, useSession } from "../../shell/session";
import { alignLayers, summarise } from "./compare";
import { LayerPairs } from "./LayerPairs";
import { PromptTotals } from "./PromptTotals";
import { build, describeOccasion, type Move, OWN_FIELDS, ownerPrompt, type Prompt } from "./prompt";
import { arrange } from "./stack_layout";

interface CompareProps {
  left: Occasion;
  choose: (left: Occasion) => void;
  query: URLSearchParams;
  move: Move;
}

export function Compare({ left, choose, query, move }: CompareProps) {
  const session = useSession();
  const { value: known, error, reload } = useOccasions();
  const right = query.has("against") ? occasionIn(query, "b.") : defaultComparison(left, known, session);
  const setRight = (occasion: Occasion) => move({ ...occasionQuery(occasion, "b."), against: "chosen" });
  const swap = () => move({ ...occasionQuery(right), ...occasionQuery(left, "b."), against: "chosen" });
  const key = known ? JSON.stringify([left, right]) : null;
  const result = useQuery(key, async (signal) => {
    const { owner } = session;
    const [a, b, most] = await Promise.all([
      build(left, owner, signal),
      build(right, owner, signal),
      ownerPrompt(left, owner, signal),
    ]);
    return { a, b, most, left, right };
  });
  // Without the list of occasions there is nothing to compare with.
  if (!known && error) return <ErrorNotice error={error} reload={reload} />;
  const fields = session.owner ? undefined : OWN_FIELDS;
  return (
    <div class="comparing vertical-stack">
      <div class="against">
        <OccasionPicker value={left} change={choose} label="On the left" fields={fields} />
        <button type="button" onClick={swap} aria-label="Swap sides">
          <span aria-hidden="true">⇄</span> Swap sides
        </button>
        <OccasionPicker value={right} change={setRight} label="On the right" fields={fields} />
      </div>
      <QueryResult query={result} what="Building both prompts">
        {(both) => <AlignedStacks both={both} />}
      </QueryResult>
    </div>
  );
}

export interface ComparedPrompts {
  a: Prompt;
  b: Prompt;
  most?: Prompt;
  left: Occasion;
  right: Occasion;
}

function AlignedStacks({ both }: { both: ComparedPrompts }) {
  const { user } = useSession();
  const [open, setOpen] = useState<string>();
  const pairs = alignLayers(arrange(both.a.layers, both.most?.layers), arrange(both.b.layers, both.most?.layers));
  const names: [string, string] = [describeOccasion(both.left, user), describeOccasion(both.right, user)];
  return (
    <>
      <PromptTotals both={both} names={names} />
      <p role="status" aria-live="polite">
        {summarise(pairs)} <span class="quiet">Choose a layer to see its text.</span>
      </p>
      <LayerPairs
        both={both}
        pairs={pairs}
        names={names}
        open={open}
        choose={(id) => setOpen(id === open ? undefined : id)}
      />
    </>
  );
}

/** A useful default: another user in a group situation, or else another agent. */
function defaultComparison(left: Occasion, known: Occasions | undefined, { user, owner }: Session): Occasion {
  const { agent, model } = left;
  if (!owner) return { agent: known?.agents.find((one) => one.name !== (agent ?? known.agents[0]?.name))?.name, model };
  const listened = known?.situations.find((one) => one.ceiling !== "full")?.name;
  const other = known?.users.find((one) => one.name !== (left.user ?? user))?.name;
  if ((left.situation ?? "dm") !== "dm") return { agent, model };
  return { user: other, situation: listened, agent, model };
}
