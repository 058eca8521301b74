// Links to the previous and the next turn of the conversation.
import { useQuery } from "../../api/query";
import { href } from "../../shell/router";
import { turnsOf } from "./turns";

/** The number of turns searched for the current one. */
const MAX_TURNS = 500;

export function Neighbours({ turn: own, session }: { turn: string; session: string }) {
  const query = useQuery(own, (signal) => turnsOf({ session, limit: MAX_TURNS }, signal));
  const turns = query.value?.items ?? [];
  const at = turns.findIndex((turn) => turn.turn === own);
  if (at < 0) return null;
  const [after, before] = [turns[at - 1], turns[at + 1]];
  return (
    <span class="neighbours">
      {before ? (
        <a rel="prev" href={href("trace", [before.turn])}>
          ← Previous turn
        </a>
      ) : (
        <span class="quiet">the first turn</span>
      )}
      {after ? (
        <a rel="next" href={href("trace", [after.turn])}>
          Next turn →
        </a>
      ) : (
        <span class="quiet">the last turn</span>
      )}
    </span>
  );
}
