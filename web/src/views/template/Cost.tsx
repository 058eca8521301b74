// What saving would cost: the cached tokens it touches in conversations that go on, at their next epoch.
import { type Asking, useAsking, useSettled } from "../../api/asking";
import type { TemplateImpact, TouchedConversation } from "../../api/schema";
import { Name } from "../../parts/conversation/Name";
import { count, money, tokens } from "../../parts/figures";
import { Busy, sentence } from "../../parts/told";
import { href } from "../../shell/router";
import { impact } from "./asks";

export const APPLIES = "Applies to new conversations, and to others at their next compaction.";

/** Asked for once the typing rests; `undefined` is a text that is not known yet, or that changes nothing. */
export function useImpact(text: string | undefined): Asking<TemplateImpact> {
  const settled = useSettled(text, 600);
  return useAsking(settled === undefined ? null : settled, (signal) => impact(settled ?? "", signal));
}

export function Cost({ asking }: { asking: Asking<TemplateImpact> }) {
  if (asking.refusal?.code === "template_refused") return <p class="quiet">Not known before its problems are solved.</p>;
  // Quietly: where it matters, in the preview or when saving, the same is said aloud, and once is enough.
  if (asking.refusal) return <p class="quiet">Not known. {sentence(asking.refusal.message)} <button type="button" class="plain" onClick={asking.again}>Ask again</button></p>;
  if (!asking.value) return <Busy what="Adding up" />;
  const cost = asking.value;
  if (cost.touched === 0) return <p>{untouched(cost)}</p>;
  return (
    <div class="cost" aria-busy={asking.busy}>
      <dl class="figures">
        <div><dt>Touches</dt><dd>{count(cost.touched)} of {count(cost.conversations)} conversations</dd></div>
        <div><dt title="Likely in a provider's cache now; they would be written anew at the next epoch">Cached tokens</dt><dd>{tokens(cost.cached_tokens)}</dd></div>
        <div><dt title="What writing them anew costs more than reading them would">Costs, once</dt><dd>{money(cost.cost_usd)}</dd></div>
      </dl>
      {cost.unpriced > 0 && <p class="quiet">{cost.unpriced === 1 ? "One of them uses a model whose price is not known; it is" : `${count(cost.unpriced)} of them use a model whose price is not known; they are`} not in the sum.</p>}
      {cost.or_more && <p class="quiet">There are more: the {count(cost.looked_at)} that were active last were looked at.</p>}
      <Conversations items={cost.items} of={cost.touched} />
    </div>
  );
}

function untouched(cost: TemplateImpact): string {
  if (!cost.changed) return "Nothing: this is the text that is in force.";
  if (cost.conversations === 0) return "Nothing: no live conversation uses the template.";
  return `Nothing: none of the ${count(cost.conversations)} live conversations would read it anew.`;
}

function Conversations({ items, of }: { items: TouchedConversation[]; of: number }) {
  return (
    <details>
      <summary>{items.length < of ? `The ${count(items.length)} dearest of them` : "Which conversations"}</summary>
      <div class="table">
        <table>
          <thead><tr><th>Conversation</th><th class="number">Touched</th><th class="number">Kept</th><th>Cache</th><th class="number">Costs</th></tr></thead>
          <tbody>
            {items.map((item) => (
              <tr key={item.conversation}>
                <td class="wrap"><a href={href("conversations", [item.conversation])}><Name of={{ id: item.conversation, title: item.title }} /></a> <span class="quiet">{item.agent}, {item.model}</span></td>
                <td class="number">{tokens(item.touched_tokens)}</td>
                <td class="number">{tokens(item.kept_tokens)}</td>
                <td title={item.warm ? "The provider likely has it in its cache now" : "It is not in a cache any more, so nothing is lost"}>{item.warm ? "warm" : "cold"}</td>
                <td class="number">{money(item.cost_usd)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
