// What saving would cost, in one line that fits above the preview.
import type { Asking } from "../../api/asking";
import type { TemplateImpact } from "../../api/schema";
import { count, money, tokens } from "../../parts/figures";

export function costLine(dirty: boolean, asking: Pick<Asking<TemplateImpact>, "value" | "refusal">): string {
  if (!dirty) return "Nothing to save.";
  if (asking.refusal) return "What saving costs is not known yet.";
  if (!asking.value) return "Adding up what saving costs …";
  const cost = asking.value;
  if (cost.touched === 0) return "Saving touches no conversation.";
  const more = cost.or_more ? " or more" : "";
  return `Saving touches ${count(cost.touched)} of ${count(cost.conversations)} conversations${more}: ${tokens(cost.cached_tokens)}, ${money(cost.cost_usd)}`;
}
