// Budgets and how much of each is spent.
import type { BudgetStatus } from "../api/schema";
import { StateBadge } from "./badges";
import { money, share, Timestamp } from "./format";
import { EmptyState } from "./states";

const EXPLANATIONS: Record<string, string> = {
  fine: "within budget",
  warn: "nearly used up: each turn carries a warning",
  stop: "used up: no model calls until the next period",
};

export function Budgets({ budgets }: { budgets: BudgetStatus[] }) {
  if (budgets.length === 0)
    return (
      <EmptyState title="No budgets.">
        <p>
          Section <code>budgets</code> of foreword.yaml sets daily or monthly budgets.
        </p>
      </EmptyState>
    );
  return (
    <ul class="budgets">
      {budgets.map((budget) => (
        <li key={`${budget.budget} ${JSON.stringify(budget.account)}`}>
          <p class="row">
            <span class="grow">{formatAmounts(budget.budget)}</span>{" "}
            <StateBadge of={budget.state} title={EXPLANATIONS[budget.state]} />
          </p>
          <div class="gauge" data-state={budget.state} aria-hidden="true">
            <span style={{ width: `${Math.min(100, fraction(budget) * 100)}%` }} />
          </div>
          <p class="quiet">
            {budget.unpriced_calls > 0 && "≥ "}
            {money(budget.spent_usd)} of {money(budget.amount_usd)} spent, {share(fraction(budget))}. Resets{" "}
            <Timestamp at={budget.resets_at} />.
          </p>
        </li>
      ))}
    </ul>
  );
}

function fraction(budget: BudgetStatus): number {
  return budget.amount_usd > 0 ? budget.spent_usd / budget.amount_usd : 1;
}

/** Formats the amount in the server's text, such as `$5.0000 per day`. */
function formatAmounts(budget: string): string {
  return budget.replace(/\$(\d+\.\d+)/g, (_, amount: string) => money(Number(amount)));
}
