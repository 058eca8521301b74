// The latest errors, each with a link to where it happened.
import type { Event } from "../../api/schema";
import { CodeText } from "../../parts/code_text";
import { eventName } from "../../parts/event_names";
import { Timestamp } from "../../parts/format";
import { EmptyState } from "../../parts/states";
import { href } from "../../shell/router";

/** Failed turns are labelled with their outcome. */
const FAILED: Record<string, string> = {
  turn_completed: "turn failed",
  workflow_ended: "workflow failed",
  schedule_ended: "schedule failed",
  schedule_error: "schedule failed",
  channel_error: "channel failed",
};

export function Errors({ errors }: { errors: Event[] }) {
  if (errors.length === 0)
    return (
      <EmptyState title="No recent errors.">
        <p>Errors are listed here, with links to their traces.</p>
      </EmptyState>
    );
  return (
    <ul class="errors card">
      {errors.map((error, at) => (
        <li key={error.id ?? `${error.timestamp} ${at}`}>
          <p class="row">
            <span class="badge bad">
              <span aria-hidden="true">✕</span> {FAILED[error.event_type] ?? eventName(error.event_type).toLowerCase()}
            </span>{" "}
            <span class="quiet">
              <Timestamp at={error.timestamp} />
              {error.user_id && `, ${error.user_id}`}
            </span>{" "}
            <ErrorLink error={error} />
          </p>
          <p class="wrap">
            <CodeText words={error.error ?? "No message recorded."} />
          </p>
        </li>
      ))}
    </ul>
  );
}

/** Links to the trace of the turn, or else to the conversation. */
function ErrorLink({ error }: { error: Event }) {
  if (error.turn_id) return <a href={href("trace", [error.turn_id])}>Trace</a>;
  if (error.session_id) return <a href={href("conversations", [error.session_id])}>Conversation</a>;
  return null;
}
