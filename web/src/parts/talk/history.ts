// Reads of a conversation what the stream does not tell: its head, and what was said.
import { api, asked } from "../../api/client";
import type { ConversationBody, MessageBody } from "../../api/schema";
import type { Page } from "../../api/pages";

/** How much is read at once. */
const PAGE = 60;

/** The last that was said, or what was said before `after`. */
export function readMessages(id: string, after?: string, signal?: AbortSignal): Promise<Page<MessageBody>> {
  return asked(api.GET("/api/v1/conversations/{id}/messages", { params: { path: { id }, query: { all: true, order: "newest", limit: PAGE, after } }, signal }));
}

export function readConversation(id: string, signal?: AbortSignal): Promise<ConversationBody> {
  return asked(api.GET("/api/v1/conversations/{id}", { params: { path: { id } }, signal }));
}
