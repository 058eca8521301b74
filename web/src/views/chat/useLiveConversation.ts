// A conversation as component state: the history plus live events over a connection that reconnects.
import { useCallback, useEffect, useState } from "preact/hooks";
import type { ApiError } from "../../api/client";
import { type ConversationState, INITIAL_STATE } from "../../parts/messages/reducer";
import { ChatSession, type ConversationRequest } from "./chat_session";
import type { OutgoingMessage } from "./outbox";
import type { SocketState } from "./socket";

export interface LiveConversation {
  state: ConversationState;
  connection: SocketState;
  /** Why the history could not be loaded. */
  error: ApiError | undefined;
  reload: () => void;
  /** Loads earlier messages. */
  earlier: () => Promise<void>;
  /** Sends the waiting messages. */
  flush: () => void;
  /** Sends a request to the server, such as to cancel a turn. */
  ask: (request: ConversationRequest) => Promise<unknown>;
}

export interface MessageHandlers {
  /** Called when a message has created this conversation, before it is sent there. */
  onCreated: (outgoing: OutgoingMessage, conversation: string) => void;
  /** Called when a message was accepted. */
  onAccepted: () => void;
}

/** Without the `chat` scope the page only reads and opens no socket. */
export function useLiveConversation(
  conversation: string | undefined,
  mayChat: boolean,
  handlers: MessageHandlers,
): LiveConversation {
  const [changed, setShown] = useState<{ of: string | undefined; state: ConversationState }>({
    of: conversation,
    state: INITIAL_STATE,
  });
  const [connection, setConnection] = useState<SocketState>("opening");
  const [error, setError] = useState<ApiError>();
  const [session] = useState(() => new ChatSession());
  session.onCreated = handlers.onCreated;
  session.onAccepted = handlers.onAccepted;
  useEffect(() => session.open({ changed: setShown, state: setConnection, failed: setError }, mayChat), []);
  useEffect(() => session.switchTo(conversation), [conversation]);
  const state = changed.of === conversation ? changed.state : INITIAL_STATE;
  return {
    state,
    connection,
    error,
    reload: useCallback(() => session.read(), []),
    earlier: useCallback(() => session.readEarlier(), []),
    flush: useCallback(() => session.flush(), []),
    ask: useCallback((request: ConversationRequest) => session.request(request), []),
  };
}
