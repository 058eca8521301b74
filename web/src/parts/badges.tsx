// Badges for cache stability, trust and state. Each also has a text.
const STABILITY: Record<string, string> = {
  static: "the same for every user: cached longest",
  agent: "changes with this agent's files",
  conversation: "the same for one conversation",
  turn: "new every turn: never cached",
  none: "new every turn: never cached",
};

export function StabilityBadge({ of }: { of: string }) {
  return (
    <span class="badge stability" data-stability={of === "none" ? "turn" : of} title={STABILITY[of]}>
      {of}
    </span>
  );
}

export function stabilityDescription(of: string): string {
  return STABILITY[of] ?? "";
}

export function TrustBadge({ of }: { of: string }) {
  return (
    <span class="badge trust" data-trust={of} title={`needs ${of} trust`}>
      {of}
    </span>
  );
}

const GOOD = new Set([
  "completed",
  "done",
  "ok",
  "included",
  "fine",
  "sent",
  "in_force",
  "fired",
  "answered",
  "delivered",
]);
const BAD = new Set(["failed", "error", "stop", "refused", "gone", "gave_up", "given_up", "abandoned", "interrupted"]);
const WAITING = new Set([
  "running",
  "waiting",
  "retrying",
  "warn",
  "pending",
  "cancelled",
  "cut",
  "withheld",
  "skipped",
  "stopping",
  "not_saved",
  "not_reached",
]);

/** Symbols of states that are neither good, bad nor in progress. */
const SIGNS: Record<string, string> = { cancelled: "⊘", warn: "!", not_saved: "●", not_reached: "?" };

/** The state of a process or its outcome. */
export function StateBadge({ of, title }: { of: string; title?: string }) {
  const kind = GOOD.has(of) ? "good" : BAD.has(of) ? "bad" : WAITING.has(of) ? "waiting" : "plain";
  const sign = SIGNS[of] ?? { good: "✓", bad: "✕", waiting: "…", plain: "·" }[kind];
  return (
    <span class={`badge state ${kind}`} title={title}>
      <span aria-hidden="true">{sign}</span> {of.replaceAll("_", " ")}
    </span>
  );
}
