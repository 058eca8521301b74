// Sends the messages in the outbox in order, until each is accepted or refused. Retries are safe because every message
// has an idempotency key. A conversation is created twice only if the response was lost and the server chose its id;
// one of the two then stays empty.
import { ApiError, api, unwrap } from "../../api/client";
import { type OutgoingMessage, outbox } from "./outbox";
import type { Socket } from "./socket";

export interface Accepted {
  outgoing: OutgoingMessage;
  conversation: string;
  message: string;
}

/** Temporary errors, which are worth a retry. */
const TEMPORARY = new Set(["connection_lost", "unreachable", "stopping", "store_unavailable", "too_many_clients"]);

export interface SendHandlers {
  /** Called before a message is sent to the conversation it created. */
  onCreated: (outgoing: OutgoingMessage, conversation: string) => void;
  onAccepted: (onAccepted: Accepted) => void;
}

/** Sends the waiting messages. Returns whether some should be retried. */
export async function send(socket: Socket, handlers: SendHandlers): Promise<"sent" | "retry"> {
  for (;;) {
    const outgoing = outbox.all().find((one) => !one.problem);
    if (!outgoing) return "sent";
    try {
      const conversation =
        outgoing.conversation ?? (await (creating ??= begin(outgoing).finally(() => (creating = undefined))));
      // Navigate before sending, so that an error is shown in the new conversation.
      if (outgoing.begin) handlers.onCreated(outgoing, conversation);
      const reply = await socket.request({
        type: "message",
        sessionId: conversation,
        text: outgoing.text,
        key: outgoing.key,
        user: outgoing.speaker?.user,
        situation: outgoing.speaker?.situation,
      });
      if (reply.type !== "accepted") throw new ApiError("unexpected", "Unexpected response from the server.");
      outbox.remove(outgoing.key);
      handlers.onAccepted({ outgoing, conversation: reply.sessionId, message: reply.messageId });
    } catch (thrown) {
      const error = ApiError.of(thrown);
      if (TEMPORARY.has(error.code)) return "retry";
      outbox.refuse(outgoing.key, error);
    }
  }
}

/** A user who leaves the chat and returns finds the creation in progress: it runs once for all waiting messages. */
let creating: Promise<string> | undefined;

/** Creates the conversation for a message and for all others that wait for it. The first line is its title. */
async function begin(outgoing: OutgoingMessage): Promise<string> {
  const { id, agent } = outgoing.begin ?? {};
  const { user, situation } = outgoing.speaker ?? {};
  const body = { id, agent, title: titleOf(outgoing.text), user, situation };
  const made = await unwrap(api.POST("/api/v1/conversations", { body })).catch((error: unknown) => {
    // An earlier attempt created it, but its response was lost.
    if (id && ApiError.of(error).code === "already_exists") return { id };
    throw error;
  });
  outbox.begun(made.id);
  return made.id;
}

/** The first non-empty line, shortened to a title. */
export function titleOf(text: string): string | undefined {
  const lines = text.split("\n").map((socket) => socket.trim());
  const socket = lines.find((one) => one !== "" && !one.startsWith("!")) ?? lines.find((one) => one !== "");
  if (!socket) return undefined;
  const pending = [...socket.replace(/[\p{Cc}\p{Cf}]/gu, "")];
  return pending.length > 80 ? `${pending.slice(0, 79).join("")}…` : pending.join("") || undefined;
}
