// The latest errors, each with the way to where it happened.
import type { Event } from "../../api/schema";
import { eventName } from "../../parts/event_names";
import { When } from "../../parts/figures";
import { Ticked } from "../../parts/ticked";
import { Empty } from "../../parts/told";
import { href } from "../../shell/router";

/** What ended badly is called by that. */
const FAILED: Record<string, string> = { turn_completed: "turn failed", workflow_ended: "workflow failed", schedule_ended: "schedule failed", schedule_error: "schedule failed", channel_error: "channel failed" };

export function Errors({ errors }: { errors: Event[] }) {
  if (errors.length === 0) return <Empty title="No errors lately."><p>What goes wrong is listed here, with the way to its trace.</p></Empty>;
  return (
    <ul class="errors card">{errors.map((error, at) => (
      <li key={error.id ?? `${error.timestamp} ${at}`}>
        <p class="row"><span class="mark bad"><span aria-hidden="true">✕</span> {FAILED[error.event_type] ?? eventName(error.event_type).toLowerCase()}</span> <span class="quiet"><When at={error.timestamp} />{error.user_id && `, ${error.user_id}`}</span> <Way error={error} /></p>
        <p class="wrap"><Ticked words={error.error ?? "No words are on record."} /></p>
      </li>
    ))}</ul>
  );
}

/** To the trace of its turn; what had no turn of its own leads to its conversation. */
function Way({ error }: { error: Event }) {
  if (error.turn_id) return <a href={href("trace", [error.turn_id])}>Trace</a>;
  if (error.session_id) return <a href={href("conversations", [error.session_id])}>Conversation</a>;
  return null;
}
