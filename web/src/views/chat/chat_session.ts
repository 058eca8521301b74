// A chat session: connects the socket, the history and the outbox of one conversation. Knows nothing about rendering.
import { ApiError } from "../../api/client";
import type { AnswerRequest, CancelRequest, MessageBody } from "../../api/schema";
import { readMessages } from "../../parts/messages/history";
import {
  type Action,
  type ConversationEvent,
  type ConversationState,
  INITIAL_STATE,
  reduce,
} from "../../parts/messages/reducer";
import { toast } from "../../parts/toast";
import { type OutgoingMessage, outbox } from "./outbox";
import { send } from "./outbox_sender";
import { Socket, type SocketState } from "./socket";

/** Minimum interval between renders, because text arrives faster than anyone reads. */
const RENDER_INTERVAL_MS = 30;
/** How long to wait for the socket before the history is shown without it. */
const SOCKET_TIMEOUT_MS = 1_500;
/** Delay before a message that could not be accepted is retried. */
const RETRY_DELAY_MS = 1_500;

/** Requests about the shown conversation. */
export type ConversationRequest = Omit<CancelRequest, "sessionId"> | Omit<AnswerRequest, "sessionId">;

export interface ChatListener {
  changed: (changed: { of: string | undefined; state: ConversationState }) => void;
  state: (state: SocketState) => void;
  failed: (error: ApiError | undefined) => void;
}

export class ChatSession {
  onCreated: (outgoing: OutgoingMessage, conversation: string) => void = () => undefined;
  onAccepted: () => void = () => undefined;
  private socket: Socket | undefined;
  private listener: ChatListener | undefined;
  private conversation: string | undefined;
  private state: ConversationState = INITIAL_STATE;
  private renderTimer: ReturnType<typeof setTimeout> | undefined;
  private readTimer: ReturnType<typeof setTimeout> | undefined;
  private sending = false;
  /** The number of running subscribe requests. */
  private subscribing = 0;
  /** Whether this conversation was subscribed before. */
  private subscribed = false;

  open(listener: ChatListener, mayChat: boolean): () => void {
    this.listener = listener;
    if (mayChat) this.socket = this.connect(listener);
    return () => {
      this.listener = undefined;
      this.conversation = undefined;
      clearTimeout(this.renderTimer);
      clearTimeout(this.readTimer);
      this.socket?.close();
    };
  }

  private connect(listener: ChatListener): Socket {
    return new Socket({
      event: (event) => this.onEvent(event),
      state: (state) => listener.state(state),
      open: () => {
        void this.subscribe();
        this.flush();
      },
    });
  }

  switchTo(conversation: string | undefined): void {
    const previous = this.conversation;
    if (previous && previous !== conversation)
      void this.socket?.request({ type: "unsubscribe", sessionId: previous }).catch(() => undefined);
    this.conversation = conversation;
    this.state = INITIAL_STATE;
    this.subscribed = false;
    this.listener?.failed(undefined);
    this.notify();
    if (!conversation) return;
    void this.subscribe();
    this.scheduleRead(this.socket ? SOCKET_TIMEOUT_MS : 0);
  }

  request(request: ConversationRequest): Promise<unknown> {
    return (
      (this.conversation && this.socket?.request({ ...request, sessionId: this.conversation })) ||
      Promise.reject(new ApiError("connection_lost", "Not connected."))
    );
  }

  /** Subscribes after the last sequence number read, then loads the history. */
  private async subscribe(): Promise<void> {
    const conversation = this.conversation;
    if (!conversation || !this.socket?.isOpen) return;
    this.subscribing += 1;
    try {
      const request = this.socket.request({ type: "subscribe", sessionId: conversation, after: this.state.last });
      const subscribed = await request.finally(() => (this.subscribing -= 1));
      if (subscribed.type !== "subscribed" || conversation !== this.conversation || this.subscribed) return;
      this.subscribed = true;
      this.dispatch({ type: "joined", last: subscribed.last });
      this.read();
    } catch (error) {
      const { code } = ApiError.of(error);
      if (code !== "after_too_high" || conversation !== this.conversation) return;
      // The sequence number decreased: an older database was restored.
      this.state = INITIAL_STATE;
      this.subscribed = false;
      void this.subscribe();
    }
  }

  private onEvent(event: ConversationEvent): void {
    // Events before the response to `subscribe` are later than the requested position and will be sent again.
    if (event.sessionId !== this.conversation || this.subscribing > 0) return;
    // Server notices are shown once.
    if (event.type === "status" && !event.turnId && (event.seq ?? 0) > Math.max(this.state.since, this.state.last))
      toast(event.message);
    this.dispatch(event);
  }

  private dispatch(event: Action): void {
    const before = this.state.reloads;
    this.state = reduce(this.state, event);
    if (this.state.reloads > before && this.state.loaded) this.scheduleRead(150);
    this.renderTimer ??= setTimeout(() => this.notify(), RENDER_INTERVAL_MS);
  }

  private notify(): void {
    clearTimeout(this.renderTimer);
    this.renderTimer = undefined;
    this.listener?.changed({ of: this.conversation, state: this.state });
  }

  private scheduleRead(ms: number): void {
    clearTimeout(this.readTimer);
    this.readTimer = setTimeout(() => this.read(), ms);
  }

  read(): void {
    clearTimeout(this.readTimer);
    const conversation = this.conversation;
    if (!conversation) return;
    readMessages(conversation).then(
      (page) => {
        if (conversation !== this.conversation) return;
        this.listener?.failed(undefined);
        this.dispatch({ type: "read", items: page.items, next: page.next });
      },
      (error: unknown) => conversation === this.conversation && this.listener?.failed(ApiError.of(error)),
    );
  }

  async readEarlier(): Promise<void> {
    const { conversation, state } = this;
    if (!conversation || state.earlier === null) return;
    const page = await readMessages(conversation, state.earlier);
    if (conversation !== this.conversation) return;
    this.dispatch({ type: "read", items: page.items, next: page.next, earlier: true });
    this.notify();
  }

  /** Sends waiting messages. Those that fail temporarily are retried after a delay or a reconnect. */
  flush(): void {
    const socket = this.socket;
    if (!socket || this.sending || outbox.all().length === 0) return;
    this.sending = true;
    const done = send(socket, {
      onCreated: (outgoing, conversation) => {
        // Users who left the view are notified when they return.
        if (!this.listener) return;
        outbox.arrived(conversation);
        this.onCreated(outgoing, conversation);
      },
      onAccepted: ({ outgoing, conversation, message }) => {
        if (conversation === this.conversation) {
          this.dispatch({ type: "accepted", message: asMessage(outgoing, message) });
          // Users who speak as someone else still subscribe as themselves.
          void this.subscribe();
        }
        this.onAccepted();
      },
    });
    void done
      .finally(() => (this.sending = false))
      .then((how) => how === "retry" && setTimeout(() => socket.isOpen && this.flush(), RETRY_DELAY_MS));
  }
}

/** Shows an outgoing message until the history has it. */
function asMessage(outgoing: OutgoingMessage, id: string): MessageBody {
  return {
    seq: 0,
    id,
    role: "user",
    kind: "message",
    author: outgoing.author,
    trust: "",
    at: outgoing.at,
    turn: null,
    covered: false,
    content: [{ type: "text", text: outgoing.text }],
  };
}
