// What may be spent, and how far each budget is.
import type { BudgetStatus } from "../api/schema";
import { When, money, share } from "./figures";
import { State } from "./marks";
import { Empty } from "./told";

const MEANS: Record<string, string> = { fine: "there is room", warn: "nearly used up: whoever asks is told with each turn", stop: "used up: no call is made until it begins anew" };

export function Budgets({ budgets }: { budgets: BudgetStatus[] }) {
  if (budgets.length === 0) return <Empty title="There is no budget."><p>Section <code>budgets</code> of foreword.yaml sets what may be spent, by day or by month.</p></Empty>;
  return (
    <ul class="budgets">{budgets.map((budget) => (
      <li key={`${budget.budget} ${JSON.stringify(budget.account)}`}>
        <p class="row"><span class="grow">{readable(budget.budget)}</span> <State of={budget.state} title={MEANS[budget.state]} /></p>
        <div class="gauge" data-state={budget.state} aria-hidden="true"><span style={{ width: `${Math.min(100, part(budget) * 100)}%` }} /></div>
        <p class="quiet">{budget.unpriced_calls > 0 && "≥ "}{money(budget.spent_usd)} of {money(budget.amount_usd)} spent, {share(part(budget))}. Begins anew <When at={budget.begins_anew} />.</p>
      </li>
    ))}</ul>
  );
}

function part(budget: BudgetStatus): number {
  return budget.amount_usd > 0 ? budget.spent_usd / budget.amount_usd : 1;
}

/** `$5.0000 per day` is how programs write it. */
function readable(budget: string): string {
  return budget.replace(/\$(\d+\.\d+)/g, (_, amount: string) => money(Number(amount)));
}
