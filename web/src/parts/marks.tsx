// Small marks with a meaning, which is always written out too: how long something stays cached, who may see it, how it ended.
const STABILITY: Record<string, string> = {
  static: "the same for everybody: cached longest",
  agent: "changes with this agent's files",
  conversation: "the same for one conversation",
  turn: "new every turn: never cached",
  none: "new every turn: never cached",
};

export function Stability({ of }: { of: string }) {
  return <span class="mark stability" data-stability={of === "none" ? "turn" : of} title={STABILITY[of]}>{of}</span>;
}

export function stabilityMeans(of: string): string {
  return STABILITY[of] ?? "";
}

export function Trust({ of }: { of: string }) {
  return <span class="mark trust" data-trust={of} title={`needs ${of} trust`}>{of}</span>;
}

const GOOD = new Set(["completed", "done", "ok", "included", "fine", "sent", "in_force", "fired", "answered", "delivered"]);
const BAD = new Set(["failed", "error", "stop", "refused", "gone", "gave_up", "given_up", "abandoned", "interrupted"]);
const WAITING = new Set(["running", "waiting", "retrying", "warn", "pending", "cancelled", "cut", "withheld", "skipped", "stopping", "not_saved", "not_reached"]);

/** What neither goes on nor ended well or badly has a sign of its own. */
const SIGNS: Record<string, string> = { cancelled: "⊘", warn: "!", not_saved: "●", not_reached: "?" };

/** How something ended, or that it has not. */
export function State({ of, title }: { of: string; title?: string }) {
  const kind = GOOD.has(of) ? "good" : BAD.has(of) ? "bad" : WAITING.has(of) ? "waiting" : "plain";
  const sign = SIGNS[of] ?? { good: "✓", bad: "✕", waiting: "…", plain: "·" }[kind];
  return <span class={`mark state ${kind}`} title={title}><span aria-hidden="true">{sign}</span> {of.replaceAll("_", " ")}</span>;
}
