// Loads a conversation's metadata and messages.
import { api, unwrap } from "../../api/client";
import type { Page } from "../../api/pages";
import type { ConversationBody, MessageBody } from "../../api/schema";

/** Messages per page. */
const PAGE = 60;

/** The latest messages, or those before the cursor `after`. */
export function readMessages(id: string, after?: string, signal?: AbortSignal): Promise<Page<MessageBody>> {
  return unwrap(
    api.GET("/api/v1/conversations/{id}/messages", {
      params: { path: { id }, query: { all: true, order: "newest", limit: PAGE, after } },
      signal,
    }),
  );
}

export function readConversation(id: string, signal?: AbortSignal): Promise<ConversationBody> {
  return unwrap(api.GET("/api/v1/conversations/{id}", { params: { path: { id } }, signal }));
}
