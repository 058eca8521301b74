// The totals of a prompt: tokens, the cost of a warm and a cold turn, trust, and warnings.

import { CodeText } from "../../parts/code_text";
import { count, money, plural } from "../../parts/format";
import { type Occasion, occasionQuery, useOccasions } from "../../parts/occasion";
import { href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { describeEffect, describeOccasion, type Prompt } from "./prompt";

export function Summary({
  prompt,
  occasion,
  ownerPrompt,
}: {
  prompt: Prompt;
  occasion: Occasion;
  ownerPrompt?: Prompt;
}) {
  const { user, owner } = useSession();
  const said = owner ? describeEffect(prompt) : plural(prompt.tokens.total, "token");
  return (
    <section class="summary card" aria-label="Totals">
      <p class="said" role="status" aria-live="polite">
        <strong>{describeOccasion(owner ? occasion : { agent: occasion.agent }, user)}</strong> <span>{said}</span>
      </p>
      {prompt.occasion && (
        <p class="made quiet">
          {[prompt.occasion.agent, prompt.blueprint, prompt.occasion.model].filter(Boolean).join(" · ")}
          {owner && <EditTemplate occasion={occasion} agent={prompt.occasion.agent} />}
        </p>
      )}
      <dl class="figures" data-priced={prompt.price ? "" : undefined}>
        <Figure
          name="Tokens"
          title={`Counted by ${prompt.tokens.counter}`}
          value={count(prompt.tokens.total)}
          note={withoutCache(prompt, ownerPrompt)}
        />
        {prompt.price && (
          <Figure
            name="Warm turn"
            title="Cost if all cacheable tokens are cached"
            value={money(prompt.price.warm)}
            note={cacheSaving(prompt)}
          />
        )}
        {prompt.price && (
          <Figure
            name="Cold turn"
            title="Cost if nothing is cached yet"
            value={money(prompt.price.cold)}
            note={prompt.price.cold === null ? "no price known" : "the first one"}
          />
        )}
        <Figure
          name="Frozen"
          title="Unchanged until the next epoch"
          value={count(prompt.tokens.frozen)}
          note="tokens"
        />
        <Figure name="Each turn" title="Rebuilt for every message" value={count(prompt.tokens.turn)} note="tokens" />
        <Figure
          name="Trust"
          title={`The lower of ${prompt.trust.user} (the user) and ${prompt.trust.ceiling} (the situation)`}
          value={prompt.trust.effective}
          note={ceiling(prompt)}
        />
      </dl>
      <p class="made quiet">
        {count(prompt.budget.remaining)} of {count(prompt.budget.limit)} tokens of budget left
      </p>
      {prompt.warnings.length > 0 && <Warnings of={prompt.warnings} />}
    </section>
  );
}

/** Where the agent's template is edited, if it has one. */
function EditTemplate({ occasion, agent }: { occasion: Occasion; agent?: string | null }) {
  const { value: known } = useOccasions();
  if (!known?.agents.some((one) => one.name === agent && one.uses_template)) return null;
  return (
    <>
      {" "}
      · <a href={href("template", [], { ...occasionQuery(occasion), agent: agent ?? undefined })}>Edit the template</a>
    </>
  );
}

/** Collapse many warnings, so that the numbers stay visible. */
function Warnings({ of }: { of: Prompt["warnings"] }) {
  return (
    <details open={of.length <= 3}>
      <summary>
        <span class="badge waiting">{plural(of.length, "warning")}</span>
      </summary>
      <ul class="warnings" aria-label="Warnings">
        {of.map((warning, at) => (
          <li key={at}>
            {warning.layer && !warning.message.includes(warning.layer) && <strong>{warning.layer}: </strong>}
            <CodeText words={warning.message} />
          </li>
        ))}
      </ul>
    </details>
  );
}

function Figure({ name, value, note, title }: { name: string; value: string; note: string; title: string }) {
  return (
    <div title={title}>
      <dt>{name}</dt>
      <dd>{value}</dd>
      <dd class="note">{note}</dd>
    </div>
  );
}

function withoutCache(prompt: Prompt, ownerPrompt: Prompt | undefined): string {
  const by = (ownerPrompt?.tokens.total ?? prompt.tokens.total) - prompt.tokens.total;
  return by > 0 ? `${count(by)} fewer than yours` : by < 0 ? `${count(-by)} more than yours` : "in all";
}

function cacheSaving(prompt: Prompt): string {
  const { cold, warm } = prompt.price ?? {};
  if (cold === null || cold === undefined || warm === null || warm === undefined) return "no price known";
  if (cold === 0) return "free";
  return warm < cold ? `${Math.round((1 - warm / cold) * 100)} % less` : "nothing cached";
}

function ceiling(prompt: Prompt): string {
  const { user, effective } = prompt.trust;
  return user === effective ? "the user's own" : `user has ${user}`;
}
