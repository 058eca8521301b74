// What a prompt comes to: its tokens, the price of a warm and a cold turn, the trust it was built at; and what to know about it.
import { count, many, money } from "../../parts/figures";
import { type Occasion, occasionQuery, useOccasions } from "../../parts/occasion";
import { Ticked } from "../../parts/ticked";
import { href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { type Prompt, spoken, summed } from "./prompt";

export function Summary({ prompt, occasion, whole }: { prompt: Prompt; occasion: Occasion; whole?: Prompt }) {
  const { user, owner } = useSession();
  const said = owner ? summed(prompt) : many(prompt.tokens.total, "token");
  return (
    <section class="summary card" aria-label="What it comes to">
      <p class="said" role="status" aria-live="polite"><strong>{spoken(owner ? occasion : { agent: occasion.agent }, user)}</strong> <span>{said}</span></p>
      {prompt.occasion && <p class="made quiet">{[prompt.occasion.agent, prompt.blueprint, prompt.occasion.model].filter(Boolean).join(" · ")}{owner && <EditTemplate occasion={occasion} agent={prompt.occasion.agent} />}</p>}
      <dl class="figures" data-priced={prompt.price ? "" : undefined}>
        <Figure name="Tokens" title={`Counted by ${prompt.tokens.counter}`} value={count(prompt.tokens.total)} note={fewer(prompt, whole)} />
        {prompt.price && <Figure name="Warm turn" title="What sending it costs when all that can be cached is" value={money(prompt.price.warm)} note={saved(prompt)} />}
        {prompt.price && <Figure name="Cold turn" title="What sending it costs when nothing is in the provider's cache yet" value={money(prompt.price.cold)} note={prompt.price.cold === null ? "no price known" : "the first one"} />}
        <Figure name="Frozen" title="Kept byte for byte until the next epoch" value={count(prompt.tokens.frozen)} note="tokens" />
        <Figure name="Each turn" title="New with every message" value={count(prompt.tokens.turn)} note="tokens" />
        <Figure name="Trust" title={`The lower of ${prompt.trust.user} (the user) and ${prompt.trust.ceiling} (the place)`} value={prompt.trust.effective} note={ceiling(prompt)} />
      </dl>
      <p class="made quiet">{count(prompt.budget.remaining)} of {count(prompt.budget.limit)} tokens of budget left</p>
      {prompt.warnings.length > 0 && <Warnings of={prompt.warnings} />}
    </section>
  );
}

/** Where the agent's text is written, if it is a template. */
function EditTemplate({ occasion, agent }: { occasion: Occasion; agent?: string | null }) {
  const { value: known } = useOccasions();
  if (!known?.agents.some((one) => one.name === agent && one.uses_template)) return null;
  return <> · <a href={href("template", [], { ...occasionQuery(occasion), agent: agent ?? undefined })}>Edit the template</a></>;
}

/** A few are simply there; many are folded, so that the numbers stay in sight. */
function Warnings({ of }: { of: Prompt["warnings"] }) {
  return (
    <details open={of.length <= 3}>
      <summary><span class="mark waiting">{many(of.length, "warning")}</span></summary>
      <ul class="warnings" aria-label="Warnings">
        {of.map((warning, at) => (
          <li key={at}>{warning.layer && !warning.message.includes(warning.layer) && <strong>{warning.layer}: </strong>}<Ticked words={warning.message} /></li>
        ))}
      </ul>
    </details>
  );
}

function Figure({ name, value, note, title }: { name: string; value: string; note: string; title: string }) {
  return <div title={title}><dt>{name}</dt><dd>{value}</dd><dd class="note">{note}</dd></div>;
}

function fewer(prompt: Prompt, whole: Prompt | undefined): string {
  const by = (whole?.tokens.total ?? prompt.tokens.total) - prompt.tokens.total;
  return by > 0 ? `${count(by)} fewer than yours` : by < 0 ? `${count(-by)} more than yours` : "in all";
}

function saved(prompt: Prompt): string {
  const { cold, warm } = prompt.price ?? {};
  if (cold === null || cold === undefined || warm === null || warm === undefined) return "no price known";
  if (cold === 0) return "free";
  return warm < cold ? `${Math.round((1 - warm / cold) * 100)} % less` : "nothing cached";
}

function ceiling(prompt: Prompt): string {
  const { user, effective } = prompt.trust;
  return user === effective ? "the user's own" : `user has ${user}`;
}
