// Two occasions side by side: two stacks aligned by layer, with what differs said in words, and the words themselves when asked.
import { useState } from "preact/hooks";
import { useAsking } from "../../api/asking";
import { type Occasion, OccasionPicker, type Occasions, occasionIn, occasionQuery, useOccasions } from "../../parts/occasion";
import { Answered, Told } from "../../parts/told";
import { type Session, useSession } from "../../shell/session";
import { Pairs } from "./Pairs";
import { Sides } from "./Sides";
import { arranged } from "./arrange";
import { counted, paired } from "./compare";
import { type Move, OWN_FIELDS, type Prompt, build, spoken, whole } from "./prompt";

interface CompareProps {
  left: Occasion;
  choose: (left: Occasion) => void;
  query: URLSearchParams;
  move: Move;
}

export function Compare({ left, choose, query, move }: CompareProps) {
  const session = useSession();
  const { value: known, refusal, again } = useOccasions();
  const right = query.has("against") ? occasionIn(query, "b.") : suggested(left, known, session);
  const setRight = (occasion: Occasion) => move({ ...occasionQuery(occasion, "b."), against: "chosen" });
  const swap = () => move({ ...occasionQuery(right), ...occasionQuery(left, "b."), against: "chosen" });
  const key = known ? JSON.stringify([left, right]) : null;
  const asking = useAsking(key, async (signal) => {
    const { owner } = session;
    const [a, b, most] = await Promise.all([build(left, owner, signal), build(right, owner, signal), whole(left, owner, signal)]);
    return { a, b, most, left, right };
  });
  // What there is to compare with can't be known, and nothing is asked for.
  if (!known && refusal) return <Told refusal={refusal} again={again} />;
  const fields = session.owner ? undefined : OWN_FIELDS;
  return (
    <div class="comparing stack-of">
      <div class="against">
        <OccasionPicker value={left} change={choose} label="On the left" fields={fields} />
        <button onClick={swap} aria-label="Swap sides"><span aria-hidden="true">⇄</span> Swap sides</button>
        <OccasionPicker value={right} change={setRight} label="On the right" fields={fields} />
      </div>
      <Answered asking={asking} what="Building both prompts">{(both) => <Aligned both={both} />}</Answered>
    </div>
  );
}

export interface Both {
  a: Prompt;
  b: Prompt;
  most?: Prompt;
  left: Occasion;
  right: Occasion;
}

function Aligned({ both }: { both: Both }) {
  const { user } = useSession();
  const [open, setOpen] = useState<string>();
  const pairs = paired(arranged(both.a.layers, both.most?.layers), arranged(both.b.layers, both.most?.layers));
  const names: [string, string] = [spoken(both.left, user), spoken(both.right, user)];
  return (
    <>
      <Sides both={both} names={names} />
      <p role="status" aria-live="polite">{counted(pairs)} <span class="quiet">Choose a layer to see its words.</span></p>
      <Pairs both={both} pairs={pairs} names={names} open={open} choose={(id) => setOpen(id === open ? undefined : id)} />
    </>
  );
}

/** Something worth comparing with, until somebody chooses: somebody else where others listen; or else another agent. */
function suggested(left: Occasion, known: Occasions | undefined, { user, owner }: Session): Occasion {
  const { agent, model } = left;
  if (!owner) return { agent: known?.agents.find((one) => one.name !== (agent ?? known.agents[0]?.name))?.name, model };
  const listened = known?.situations.find((one) => one.ceiling !== "full")?.name;
  const other = known?.users.find((one) => one.name !== (left.user ?? user))?.name;
  if ((left.situation ?? "dm") !== "dm") return { agent, model };
  return { user: other, situation: listened, agent, model };
}
