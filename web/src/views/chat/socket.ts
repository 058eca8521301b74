// The WebSocket connection: opens it, sends keep-alive pings and reconnects. The cookie authenticates it.
import { ApiError, api, unwrap } from "../../api/client";
import type { ClientMessage, ServerMessage } from "../../api/schema";
import type { ConversationEvent } from "../../parts/messages/reducer";
import { backoffDelay } from "./backoff";

export type SocketState = "opening" | "open" | "lost";

export interface SocketHandlers {
  /** Called for every event of the subscribed conversation. */
  event: (event: ConversationEvent) => void;
  /** Called on every connect and reconnect. */
  open: () => void;
  state: (state: SocketState) => void;
}

/** Keep-alive interval and timeout. */
const PING_INTERVAL_MS = 15_000;
const PING_TIMEOUT_MS = 10_000;
/** The number of failed attempts after which the login session is checked. */
const FAILURES_BEFORE_CHECK = 3;

export class Socket {
  private socket: WebSocket | undefined;
  private failures = 0;
  private next = 1;
  private requests = new Map<string, { done: (reply: ServerMessage) => void; failed: (error: ApiError) => void }>();
  private timers: ReturnType<typeof setTimeout>[] = [];
  private closed = false;

  constructor(private readonly handlers: SocketHandlers) {
    addEventListener("online", this.reconnect);
    addEventListener("offline", this.drop);
    this.connect();
  }

  get isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /**
   * Sends a request. Rejects with `connection_lost` if the connection breaks before the response; the outcome is then
   * unknown.
   */
  request(request: ClientMessage): Promise<ServerMessage> {
    return new Promise((done, failed) => {
      if (!this.isOpen) return failed(connectionLost());
      const id = String(this.next++);
      this.requests.set(id, { done, failed });
      this.socket?.send(JSON.stringify({ ...request, id }));
    });
  }

  /** Reconnects without waiting. */
  reconnect = (): void => {
    if (this.closed || this.isOpen || this.socket?.readyState === WebSocket.CONNECTING) return;
    this.connect();
  };

  close(): void {
    this.closed = true;
    removeEventListener("online", this.reconnect);
    removeEventListener("offline", this.drop);
    this.rejectPending();
    this.socket?.close(1000);
  }

  private connect(): void {
    this.rejectPending();
    const socket = new WebSocket(
      `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`,
      "foreword.v1",
    );
    this.socket = socket;
    socket.onopen = () => {
      if (this.socket !== socket) return;
      this.handlers.state("open");
      this.keepAlive();
      this.handlers.open();
    };
    socket.onmessage = (event) => this.socket === socket && this.receive(String(event.data));
    socket.onclose = () => this.socket === socket && this.onClosed();
  }

  private receive(text: string): void {
    this.failures = 0;
    const message = JSON.parse(text) as ServerMessage;
    const id = "inReplyTo" in message ? message.inReplyTo : undefined;
    const request = id === undefined ? undefined : this.requests.get(id);
    if (id !== undefined) this.requests.delete(id);
    if (message.type === "problem")
      request?.failed(new ApiError(message.code, message.detail, message.help ?? null, message.status));
    else if (request) request.done(message);
    else if (isConversationEvent(message)) this.handlers.event(message);
  }

  /** A dead connection is not always reported, for example after a cable was unplugged or the machine slept. */
  private keepAlive(): void {
    const ping = () => {
      const late = setTimeout(this.drop, PING_TIMEOUT_MS);
      this.timers.push(late);
      this.request({ type: "ping" }).then(
        () => {
          clearTimeout(late);
          this.timers = [setTimeout(ping, PING_INTERVAL_MS)];
        },
        () => undefined,
      );
    };
    this.timers = [setTimeout(ping, PING_INTERVAL_MS)];
  }

  private drop = (): void => {
    const socket = this.socket;
    if (!socket || this.closed) return;
    this.socket = undefined;
    socket.close();
    this.onClosed();
  };

  private onClosed(): void {
    if (this.closed) return;
    this.rejectPending();
    this.handlers.state("lost");
    this.failures += 1;
    if (this.failures % FAILURES_BEFORE_CHECK === 0) void checkSession();
    this.timers = [setTimeout(this.reconnect, backoffDelay(this.failures - 1, Math.random()))];
  }

  private rejectPending(): void {
    for (const timer of this.timers) clearTimeout(timer);
    this.timers = [];
    const requests = [...this.requests.values()];
    this.requests.clear();
    for (const { failed } of requests) failed(connectionLost());
  }
}

/** Conversation events have a sequence number; server notices have none. */
function isConversationEvent(message: ServerMessage): message is ConversationEvent {
  return message.type === "missed" || ("seq" in message && message.seq !== undefined);
}

function connectionLost(): ApiError {
  return new ApiError("connection_lost", "The connection was lost.", "The page retries automatically.");
}

/** Browsers do not expose why a WebSocket was refused, so check the login session over HTTP. */
async function checkSession(): Promise<void> {
  // A 401 shows the sign-in form; an unreachable server is retried.
  await unwrap(api.GET("/api/v1/session", {})).catch(() => undefined);
}
