// The cost of saving in one line.
import type { Query } from "../../api/query";
import type { TemplateImpact } from "../../api/schema";
import { count, money, tokens } from "../../parts/format";

export function costLine(dirty: boolean, query: Pick<Query<TemplateImpact>, "value" | "error">): string {
  if (!dirty) return "Nothing to save.";
  if (query.error) return "The cost of saving is not known yet.";
  if (!query.value) return "Calculating the cost of saving …";
  const cost = query.value;
  if (cost.affected === 0) return "Saving affects no conversation.";
  const more = cost.or_more ? " or more" : "";
  return `Saving affects ${count(cost.affected)} of ${count(cost.conversations)} conversations${more}: ${tokens(cost.cached_tokens)}, ${money(cost.cost_usd)}`;
}
