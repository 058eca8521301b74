// Costs grouped by one dimension, with a total.
import type { CostRow, CostSum } from "../../api/schema";
import { ConversationName } from "../../parts/conversation/ConversationName";
import { count, money, share } from "../../parts/format";
import { ScrollContainer } from "../../parts/scroll_container";
import { href } from "../../shell/router";
import { amountSign, dayLabel } from "./series";

export const GROUPINGS = { day: "day", model: "model", user: "user", session: "conversation", agent: "agent" } as const;
export type By = keyof typeof GROUPINGS;

export function byOf(word: string | null): By {
  return word !== null && Object.hasOwn(GROUPINGS, word) ? (word as By) : "day";
}

export function CostTable({ by, rows, total }: { by: By; rows: CostRow[]; total: CostSum }) {
  const most = Math.max(0, ...rows.map((row) => row.cost_usd ?? 0));
  return (
    <ScrollContainer label={`Spending by ${GROUPINGS[by]}`} class="cost-table">
      <table>
        <caption class="visually-hidden">Spending by {GROUPINGS[by]}</caption>
        <thead>
          <tr>
            <th scope="col">{GROUPINGS[by].charAt(0).toUpperCase() + GROUPINGS[by].slice(1)}</th>
            <th scope="col" class="number">
              Turns
            </th>
            <th scope="col" class="number">
              Calls
            </th>
            <th scope="col" class="number">
              Tokens in
            </th>
            <th scope="col" class="number">
              From cache
            </th>
            <th scope="col" class="number">
              Tokens out
            </th>
            <th scope="col" class="number">
              Cost per turn
            </th>
            <th scope="col" class="number">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.key ?? ""}>
              <th scope="row" class="wrap">
                <GroupName by={by} id={row.key ?? null} />
              </th>
              <Sum of={row} />
              <td class="number cost">
                <Amount of={row} />
                <span class="gauge" aria-hidden="true">
                  <span style={{ width: `${most > 0 ? ((row.cost_usd ?? 0) / most) * 100 : 0}%` }} />
                </span>
              </td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Total</th>
            <Sum of={total} />
            <td class="number cost">
              <Amount of={total} />
            </td>
          </tr>
        </tfoot>
      </table>
    </ScrollContainer>
  );
}

function GroupName({ by, id }: { by: By; id: string | null }) {
  if (id === null) return <span class="quiet">{by === "user" ? "senders who are not users" : "not named"}</span>;
  if (by === "day") return <>{dayLabel(id)}</>;
  if (by === "session")
    return (
      <a href={href("trace", [], { conversation: id })} title={id}>
        <ConversationName of={{ id }} />
      </a>
    );
  return <>{id}</>;
}

function Sum({ of }: { of: CostSum }) {
  return (
    <>
      <td class="number">{count(of.turns)}</td>
      <td class="number">
        {count(of.calls)}
        {of.failed_calls > 0 && (
          <span class="failed" title="aborted but charged">
            {" "}
            ({count(of.failed_calls)} aborted)
          </span>
        )}
      </td>
      <td class="number">{count(of.tokens_in)}</td>
      <td class="number">
        {of.cache_share === null || of.cache_share === undefined ? (
          <span class="quiet">not reported</span>
        ) : (
          share(of.cache_share)
        )}
      </td>
      <td class="number">{count(of.tokens_out)}</td>
      <td class="number">{money(of.cost_usd_per_turn)}</td>
    </>
  );
}

export function Amount({ of }: { of: CostSum }) {
  if (of.cost_usd === null || of.cost_usd === undefined) return <span class="quiet">unknown</span>;
  return (
    <span
      title={
        of.unpriced_calls > 0 ? `${count(of.unpriced_calls)} calls without a known price are not included` : undefined
      }
    >
      {amountSign(of.unpriced_calls)}
      {money(of.cost_usd)}
    </span>
  );
}
