// A table of turns. Rows become cards on a phone, so the roles are explicit.
import type { Turn } from "../../api/schema";
import { StateBadge } from "../../parts/badges";
import { showBidiControls } from "../../parts/bidi";
import { ConversationName } from "../../parts/conversation/ConversationName";
import { nameOf } from "../../parts/conversation/names";
import { count, duration, money, Timestamp, UNCHARGED } from "../../parts/format";
import { href } from "../../shell/router";

export function TurnTable({ turns, all }: { turns: Turn[]; all: boolean }) {
  const failed = turns.filter((turn) => turn.state === "failed").length;
  return (
    <>
      <p class="quiet" role="status">
        {all ? count(turns.length) : `The latest ${count(turns.length)}`} {turns.length === 1 ? "turn" : "turns"}
        {failed > 0 && `, ${failed} failed`}.
      </p>
      <div class="table as-cards">
        <table role="table">
          <thead role="rowgroup">
            <tr role="row">
              <th role="columnheader" scope="col">
                When
              </th>
              <th role="columnheader" scope="col">
                Who
              </th>
              <th role="columnheader" scope="col">
                Conversation
              </th>
              <th role="columnheader" scope="col">
                Outcome
              </th>
              <th role="columnheader" scope="col" class="number">
                Took
              </th>
              <th role="columnheader" scope="col" class="number">
                Calls
              </th>
              <th role="columnheader" scope="col" class="number">
                Tokens in
              </th>
              <th role="columnheader" scope="col" class="number">
                out
              </th>
              <th role="columnheader" scope="col" class="number">
                Cost
              </th>
            </tr>
          </thead>
          <tbody role="rowgroup">
            {turns.map((turn) => (
              <TurnRow key={turn.turn} turn={turn} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function TurnRow({ turn }: { turn: Turn }) {
  const to = href("trace", [turn.turn]);
  const uncharged = turn.calls === 0 && turn.state !== "running" && !turn.cost_usd;
  return (
    <tr role="row" data-state={turn.state}>
      <th role="rowheader" scope="row" class="when">
        <a href={to}>
          <Timestamp at={turn.started_at} />
          <span class="visually-hidden"> in {nameOf({ id: turn.session_id, title: turn.title })}</span>
        </a>
      </th>
      <td role="cell" class="who">
        {turn.user ?? (
          <span class="quiet" title="a sender who is not a user">
            a sender
          </span>
        )}
      </td>
      <td role="cell" class="what">
        <span class="wrap title" title={turn.session_id}>
          <ConversationName of={{ id: turn.session_id, title: turn.title }} />
        </span>
        {turn.error && (
          <p class="error wrap">
            <a href={to}>
              <span aria-hidden="true">✕ </span>
              {showBidiControls(turn.error)}
            </a>
          </p>
        )}
      </td>
      <td role="cell" class="outcome">
        <StateBadge of={turn.state} />
      </td>
      <td role="cell" class="number" data-label="took">
        {duration(turn.duration_ms)}
      </td>
      <td role="cell" class="number" data-label="calls">
        {count(turn.calls)}
        {turn.failed_calls > 0 && <span class="failed"> + {count(turn.failed_calls)} failed</span>}
      </td>
      <td role="cell" class="number" data-label="tokens in" title={cached(turn)}>
        {count(turn.tokens_in)}
      </td>
      <td role="cell" class="number" data-label="out">
        {count(turn.tokens_out)}
      </td>
      <td role="cell" class="number" data-label="cost" title={uncharged ? UNCHARGED : undefined}>
        {uncharged ? "–" : money(turn.cost_usd)}
      </td>
    </tr>
  );
}

function cached(turn: Turn): string | undefined {
  return turn.cache_read_tokens ? `${count(turn.cache_read_tokens)} of them from the cache` : undefined;
}
