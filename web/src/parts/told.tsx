// What a view says when there is nothing to show: it is on its way, there is none, or it went wrong.
import type { ComponentChildren } from "preact";
import type { Refusal } from "../api/client";
import type { Asking } from "../api/asking";
import { Ticked } from "./ticked";

export function Busy({ what }: { what?: string }) {
  return <p class="busy" role="status"><span class="spinner" aria-hidden="true" /> {what ? `${what} …` : "One moment …"}</p>;
}

/** A failure: what happened, what to try, and the way to try it. */
export function Told({ refusal, again }: { refusal: Refusal; again?: () => void }) {
  return (
    <div class="told bad" role="alert">
      <p><strong><Ticked words={sentence(refusal.message)} /></strong></p>
      {refusal.help && <p><Ticked words={sentence(refusal.help)} /></p>}
      {refusal.problems.length > 0 && (
        <ul>{refusal.problems.map((problem, at) => (
          <li key={at}>{problem.line ? `line ${problem.line}: ` : ""}<Ticked words={problem.help ? `${problem.message} — ${problem.help}` : problem.message} /></li>
        ))}</ul>
      )}
      {again && <button onClick={again}>Try again</button>}
    </div>
  );
}

/** The server's words begin small and have no stop; here they are sentences. */
export function sentence(words: string): string {
  const begun = words.startsWith("`") ? words : words.charAt(0).toUpperCase() + words.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

/** An empty list, and what would fill it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return <div class="empty"><p><strong>{title}</strong></p>{children}</div>;
}

/** Shows an answer, or that it is on its way, or why it did not come. What was there stays while a newer one is asked for. */
export function Answered<T>({ asking, what, children }: { asking: Asking<T>; what?: string; children: (value: T) => ComponentChildren }) {
  if (asking.value === undefined && asking.refusal) return <Told refusal={asking.refusal} again={asking.again} />;
  if (asking.value === undefined) return <Busy what={what} />;
  return <>{asking.refusal && <Told refusal={asking.refusal} again={asking.again} />}{children(asking.value)}</>;
}
