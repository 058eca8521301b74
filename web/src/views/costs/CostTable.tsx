// Sums in a table, told apart by one thing, with all of them together below.
import type { CostRow, CostSum } from "../../api/schema";
import { Name as ConversationName } from "../../parts/conversation/Name";
import { count, money, share } from "../../parts/figures";
import { Scrolled } from "../../parts/scrolled";
import { href } from "../../shell/router";
import { amountSign, dayLabel } from "./series";

export const WAYS = { day: "day", model: "model", user: "user", session: "conversation", agent: "agent" } as const;
export type By = keyof typeof WAYS;

export function byOf(word: string | null): By {
  return word !== null && Object.hasOwn(WAYS, word) ? (word as By) : "day";
}

export function CostTable({ by, rows, total }: { by: By; rows: CostRow[]; total: CostSum }) {
  const most = Math.max(0, ...rows.map((row) => row.cost_usd ?? 0));
  return (
    <Scrolled label={`Spending by ${WAYS[by]}`} class="cost-table">
      <table>
        <caption class="visually-hidden">Spending by {WAYS[by]}</caption>
        <thead><tr>
          <th scope="col">{WAYS[by].charAt(0).toUpperCase() + WAYS[by].slice(1)}</th><th scope="col" class="number">Turns</th><th scope="col" class="number">Calls</th><th scope="col" class="number">Tokens in</th>
          <th scope="col" class="number">From cache</th><th scope="col" class="number">Tokens out</th><th scope="col" class="number">A turn</th><th scope="col" class="number">Cost</th>
        </tr></thead>
        <tbody>{rows.map((row) => (
          <tr key={row.key ?? ""}>
            <th scope="row" class="wrap"><Name by={by} id={row.key ?? null} /></th>
            <Sum of={row} />
            <td class="number cost"><Amount of={row} /><span class="gauge" aria-hidden="true"><span style={{ width: `${most > 0 ? ((row.cost_usd ?? 0) / most) * 100 : 0}%` }} /></span></td>
          </tr>
        ))}</tbody>
        <tfoot><tr><th scope="row">all</th><Sum of={total} /><td class="number cost"><Amount of={total} /></td></tr></tfoot>
      </table>
    </Scrolled>
  );
}

function Name({ by, id }: { by: By; id: string | null }) {
  if (id === null) return <span class="quiet">{by === "user" ? "senders who are no users" : "not named"}</span>;
  if (by === "day") return <>{dayLabel(id)}</>;
  if (by === "session") return <a href={href("trace", [], { conversation: id })} title={id}><ConversationName of={{ id }} /></a>;
  return <>{id}</>;
}

function Sum({ of }: { of: CostSum }) {
  return (
    <>
      <td class="number">{count(of.turns)}</td>
      <td class="number">{count(of.calls)}{of.failed_calls > 0 && <span class="failed" title="broke off, and were paid for"> ({count(of.failed_calls)} broke off)</span>}</td>
      <td class="number">{count(of.tokens_in)}</td>
      <td class="number">{of.cache_share === null || of.cache_share === undefined ? <span class="quiet">not reported</span> : share(of.cache_share)}</td>
      <td class="number">{count(of.tokens_out)}</td>
      <td class="number">{money(of.cost_usd_per_turn)}</td>
    </>
  );
}

export function Amount({ of }: { of: CostSum }) {
  if (of.cost_usd === null || of.cost_usd === undefined) return <span class="quiet">not known</span>;
  return <span title={of.unpriced_calls > 0 ? `${count(of.unpriced_calls)} calls have no known price and are not in it` : undefined}>{amountSign(of.unpriced_calls)}{money(of.cost_usd)}</span>;
}
