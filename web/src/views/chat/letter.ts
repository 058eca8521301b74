// Something that is said, as it is sent: to a conversation, or to one that it is to begin, and by whom. Pure, but for fresh names.
import type { Occasion } from "../../parts/occasion";
import type { Session } from "../../shell/session";
import { fresh } from "../../parts/fresh";
import type { Letter, Speaker } from "./outbox";

/** Where something is said: in a conversation, by `speaker` if that is somebody else, or in a new one on an occasion. */
export type Said = { conversation: string; speaker: string | undefined } | { conversation: undefined; occasion: Occasion };

export function letterOf(text: string, said: Said, session: Session, now = new Date()): Letter {
  const asserts = session.scopes.includes("assert");
  const speaker = speakerOf(said, session.user);
  // Only who may name a conversation can begin it again under the same name.
  const begin = said.conversation === undefined ? { agent: said.occasion.agent, id: asserts || session.owner ? fresh("c") : undefined } : undefined;
  return { key: fresh("page"), text, conversation: said.conversation, begin, speaker: asserts ? speaker : undefined, author: (asserts && speaker.user) || session.user, at: now.toISOString() };
}

function speakerOf(said: Said, self: string): Speaker {
  if (said.conversation !== undefined) return { user: said.speaker };
  const { user, situation } = said.occasion;
  return { user: user === self ? undefined : user, situation };
}
