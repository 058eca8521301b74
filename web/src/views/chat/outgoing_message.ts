// An outgoing message and its target: an existing conversation or a new one, and the speaker. Pure except for generated
// ids.

import { newId } from "../../parts/ids";
import type { Occasion } from "../../parts/occasion";
import type { Session } from "../../shell/session";
import type { OutgoingMessage, Speaker } from "./outbox";

/** The target: a conversation, with `speaker` if the user speaks as someone else, or a new one with an occasion. */
export type Target =
  | { conversation: string; speaker: string | undefined }
  | { conversation: undefined; occasion: Occasion };

export function createOutgoing(text: string, target: Target, session: Session, now = new Date()): OutgoingMessage {
  const asserts = session.scopes.includes("assert");
  const speaker = speakerOf(target, session.user);
  // Only users who may choose conversation ids can retry the creation under the same id.
  const begin =
    target.conversation === undefined
      ? { agent: target.occasion.agent, id: asserts || session.owner ? newId("c") : undefined }
      : undefined;
  return {
    key: newId("page"),
    text,
    conversation: target.conversation,
    begin,
    speaker: asserts ? speaker : undefined,
    author: (asserts && speaker.user) || session.user,
    at: now.toISOString(),
  };
}

function speakerOf(target: Target, self: string): Speaker {
  if (target.conversation !== undefined) return { user: target.speaker };
  const { user, situation } = target.occasion;
  return { user: user === self ? undefined : user, situation };
}
