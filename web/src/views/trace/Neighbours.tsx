// The turns before and after this one, in the same conversation.
import { useAsking } from "../../api/asking";
import { href } from "../../shell/router";
import { turnsOf } from "./turns";

/** As many turns of a conversation as are looked through for this one. */
const LOOKED_AT = 500;

export function Neighbours({ turn: own, session }: { turn: string; session: string }) {
  const asking = useAsking(own, (signal) => turnsOf({ session, limit: LOOKED_AT }, signal));
  const turns = asking.value?.items ?? [];
  const at = turns.findIndex((turn) => turn.turn === own);
  if (at < 0) return null;
  const [after, before] = [turns[at - 1], turns[at + 1]];
  return (
    <span class="neighbours">
      {before ? <a rel="prev" href={href("trace", [before.turn])}>← Turn before</a> : <span class="quiet">the first turn</span>}
      {after ? <a rel="next" href={href("trace", [after.turn])}>Turn after →</a> : <span class="quiet">the last turn</span>}
    </span>
  );
}
