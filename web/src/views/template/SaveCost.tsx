// The cost of saving: the cached tokens it invalidates in active conversations, at their next epoch.
import { type Query, useDebounced, useQuery } from "../../api/query";
import type { ChangedConversation, TemplateImpact } from "../../api/schema";
import { ConversationName } from "../../parts/conversation/ConversationName";
import { count, money, tokens } from "../../parts/format";
import { Loading, sentence } from "../../parts/states";
import { href } from "../../shell/router";
import { impact } from "./requests";

export const APPLIES = "Applies to new conversations, and to others at their next compaction.";

/** Debounced; `undefined` if the text is unknown or unchanged. */
export function useImpact(text: string | undefined): Query<TemplateImpact> {
  const settled = useDebounced(text, 600);
  return useQuery(settled === undefined ? null : settled, (signal) => impact(settled ?? "", signal));
}

export function SaveCost({ query }: { query: Query<TemplateImpact> }) {
  if (query.error?.code === "template_refused") return <p class="quiet">Unknown until the problems are fixed.</p>;
  // Not announced: the preview or the save dialog announces the same.
  if (query.error)
    return (
      <p class="quiet">
        Unknown. {sentence(query.error.message)}{" "}
        <button type="button" class="plain" onClick={query.reload}>
          Ask again
        </button>
      </p>
    );
  if (!query.value) return <Loading what="Calculating" />;
  const cost = query.value;
  if (cost.affected === 0) return <p>{describeUnaffected(cost)}</p>;
  return (
    <div class="cost" aria-busy={query.busy}>
      <dl class="figures">
        <div>
          <dt>Affects</dt>
          <dd>
            {count(cost.affected)} of {count(cost.conversations)} conversations
          </dd>
        </div>
        <div>
          <dt title="Likely cached by a provider; they would be rewritten at the next epoch">Cached tokens</dt>
          <dd>{tokens(cost.cached_tokens)}</dd>
        </div>
        <div>
          <dt title="The extra cost of rewriting them instead of reading them">One-time cost</dt>
          <dd>{money(cost.cost_usd)}</dd>
        </div>
      </dl>
      {cost.unpriced > 0 && (
        <p class="quiet">
          {cost.unpriced === 1
            ? "One uses a model without a known price and is"
            : `${count(cost.unpriced)} use a model without a known price and are`}{" "}
          not included.
        </p>
      )}
      {cost.or_more && (
        <p class="quiet">Only the {count(cost.max_checked)} most recently active conversations are included.</p>
      )}
      <Conversations items={cost.items} of={cost.affected} />
    </div>
  );
}

function describeUnaffected(cost: TemplateImpact): string {
  if (!cost.changed) return "None: this text is in force.";
  if (cost.conversations === 0) return "None: no active conversation uses the template.";
  return `None: it affects none of the ${count(cost.conversations)} active conversations.`;
}

function Conversations({ items, of }: { items: ChangedConversation[]; of: number }) {
  return (
    <details>
      <summary>{items.length < of ? `The ${count(items.length)} most expensive` : "Conversations"}</summary>
      <div class="table">
        <table>
          <thead>
            <tr>
              <th>Conversation</th>
              <th class="number">Changed</th>
              <th class="number">Kept</th>
              <th>Cache</th>
              <th class="number">Costs</th>
            </tr>
          </thead>
          <tbody>
            {items.map((item) => (
              <tr key={item.conversation}>
                <td class="wrap">
                  <a href={href("conversations", [item.conversation])}>
                    <ConversationName of={{ id: item.conversation, title: item.title }} />
                  </a>{" "}
                  <span class="quiet">
                    {item.agent}, {item.model}
                  </span>
                </td>
                <td class="number">{tokens(item.rewritten_tokens)}</td>
                <td class="number">{tokens(item.kept_tokens)}</td>
                <td title={item.warm ? "Likely cached by the provider" : "No longer cached, so there is no extra cost"}>
                  {item.warm ? "warm" : "cold"}
                </td>
                <td class="number">{money(item.cost_usd)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
