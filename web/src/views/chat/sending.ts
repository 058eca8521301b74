// Sends what waits in the outbox, one after the other, until each is taken in or refused. Trying again is safe: every message has
// a key. A conversation is begun twice only if its answer was lost and it is the server that names it; then one stays empty.
import { Refusal, api, asked } from "../../api/client";
import type { Line } from "./line";
import { type Letter, outbox } from "./outbox";

export interface Taken {
  letter: Letter;
  conversation: string;
  message: string;
}

/** What is worth trying again: it was no decision. */
const PASSING = new Set(["line_lost", "unreachable", "stopping", "store_unavailable", "too_many_clients"]);

export interface Told {
  /** A letter is about to go into a conversation that it began. */
  begun: (letter: Letter, conversation: string) => void;
  taken: (taken: Taken) => void;
}

/** Sends what waits. Gives whether something still does that should be tried again in a moment. */
export async function send(line: Line, told: Told): Promise<"sent" | "again"> {
  for (;;) {
    const letter = outbox.all().find((one) => !one.problem);
    if (!letter) return "sent";
    try {
      const conversation = letter.conversation ?? (await (beginning ??= begin(letter).finally(() => (beginning = undefined))));
      // Before anything is said there: what is refused is shown where it was meant to be said.
      if (letter.begin) told.begun(letter, conversation);
      const reply = await line.ask({ type: "message", sessionId: conversation, text: letter.text, key: letter.key, user: letter.speaker?.user, situation: letter.speaker?.situation });
      if (reply.type !== "accepted") throw new Refusal("unexpected", "The server answered something else.");
      outbox.remove(letter.key);
      told.taken({ letter, conversation: reply.sessionId, message: reply.messageId });
    } catch (error) {
      const refusal = Refusal.of(error);
      if (PASSING.has(refusal.code)) return "again";
      outbox.refuse(letter.key, refusal);
    }
  }
}

/** Whoever leaves the chat and comes back finds it under way: it is begun once for all that wait. */
let beginning: Promise<string> | undefined;

/** Begins the conversation that a letter is for, and whatever else waits for one. Its title is the first line. */
async function begin(letter: Letter): Promise<string> {
  const { id, agent } = letter.begin ?? {};
  const { user, situation } = letter.speaker ?? {};
  const body = { id, agent, title: titleOf(letter.text), user, situation };
  const made = await asked(api.POST("/api/v1/conversations", { body })).catch((error: unknown) => {
    // It was begun by an attempt whose answer we did not hear.
    if (id && Refusal.of(error).code === "used_before") return { id };
    throw error;
  });
  outbox.begun(made.id);
  return made.id;
}

/** The first line that says something, no longer than a title should be. */
export function titleOf(text: string): string | undefined {
  const lines = text.split("\n").map((line) => line.trim());
  const line = lines.find((one) => one !== "" && !one.startsWith("!")) ?? lines.find((one) => one !== "");
  if (!line) return undefined;
  const letters = [...line.replace(/[\p{Cc}\p{Cf}]/gu, "")];
  return letters.length > 80 ? `${letters.slice(0, 79).join("")}…` : letters.join("") || undefined;
}
