// The line to the server: opened, kept alive, and opened again by itself when it is lost. The cookie says who we are.
import { Refusal, api, asked } from "../../api/client";
import { pause } from "./backoff";
import type { ClientMessage, ServerMessage } from "../../api/schema";
import type { Item } from "../../parts/talk/fold";

export type LineState = "opening" | "open" | "lost";

export interface Heard {
  /** Something happened where we look on. */
  item: (item: Item) => void;
  /** The line is open, for the first time or again. */
  open: () => void;
  state: (state: LineState) => void;
}

/** How often is asked whether somebody is there, and how long the answer may take. */
const EVERY = 15_000;
const PATIENCE = 10_000;
/** After how many failures is asked whether it is us that are not let in. */
const SUSPICIOUS = 3;

export class Line {
  private socket: WebSocket | undefined;
  private failures = 0;
  private next = 1;
  private waiting = new Map<string, { done: (reply: ServerMessage) => void; failed: (refusal: Refusal) => void }>();
  private timers: ReturnType<typeof setTimeout>[] = [];
  private over = false;

  constructor(private readonly heard: Heard) {
    addEventListener("online", this.now);
    addEventListener("offline", this.drop);
    this.connect();
  }

  get isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** Asks for something. Fails with `line_lost` if the line breaks before there is an answer: then nobody knows whether it was done. */
  ask(request: ClientMessage): Promise<ServerMessage> {
    return new Promise((done, failed) => {
      if (!this.isOpen) return failed(lost());
      const id = String(this.next++);
      this.waiting.set(id, { done, failed });
      this.socket?.send(JSON.stringify({ ...request, id }));
    });
  }

  /** Tries at once. */
  now = (): void => {
    if (this.over || this.isOpen || this.socket?.readyState === WebSocket.CONNECTING) return;
    this.connect();
  };

  close(): void {
    this.over = true;
    removeEventListener("online", this.now);
    removeEventListener("offline", this.drop);
    this.forget();
    this.socket?.close(1000);
  }

  private connect(): void {
    this.forget();
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`, "foreword.v1");
    this.socket = socket;
    socket.onopen = () => {
      if (this.socket !== socket) return;
      this.heard.state("open");
      this.keepAlive();
      this.heard.open();
    };
    socket.onmessage = (event) => this.socket === socket && this.take(String(event.data));
    socket.onclose = () => this.socket === socket && this.ended();
  }

  private take(text: string): void {
    this.failures = 0;
    const said = JSON.parse(text) as ServerMessage;
    const id = "inReplyTo" in said ? said.inReplyTo : undefined;
    const waits = id === undefined ? undefined : this.waiting.get(id);
    if (id !== undefined) this.waiting.delete(id);
    if (said.type === "problem") waits?.failed(new Refusal(said.code, said.detail, said.help ?? null, said.status));
    else if (waits) waits.done(said);
    else if (isItem(said)) this.heard.item(said);
  }

  /** The line may be dead without anybody saying so: a wire that was pulled, a machine that slept. */
  private keepAlive(): void {
    const beat = () => {
      const late = setTimeout(this.drop, PATIENCE);
      this.timers.push(late);
      this.ask({ type: "ping" }).then(() => {
        clearTimeout(late);
        this.timers = [setTimeout(beat, EVERY)];
      }, () => undefined);
    };
    this.timers = [setTimeout(beat, EVERY)];
  }

  private drop = (): void => {
    const socket = this.socket;
    if (!socket || this.over) return;
    this.socket = undefined;
    socket.close();
    this.ended();
  };

  private ended(): void {
    if (this.over) return;
    this.forget();
    this.heard.state("lost");
    this.failures += 1;
    if (this.failures % SUSPICIOUS === 0) void areWeKnown();
    this.timers = [setTimeout(this.now, pause(this.failures - 1, Math.random()))];
  }

  private forget(): void {
    for (const timer of this.timers) clearTimeout(timer);
    this.timers = [];
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const { failed } of waiting) failed(lost());
  }
}

/** What happens in a conversation has a number; what the server says of itself has none. */
function isItem(said: ServerMessage): said is Item {
  return said.type === "missed" || ("seq" in said && said.seq !== undefined);
}

function lost(): Refusal {
  return new Refusal("line_lost", "The connection was lost.", "The page tries again by itself.");
}

/** A browser is not told why a line was refused; the session is. */
async function areWeKnown(): Promise<void> {
  // Somebody who is signed out is asked for a token by the page; a server that is away is tried again.
  await asked(api.GET("/api/v1/session", {})).catch(() => undefined);
}
