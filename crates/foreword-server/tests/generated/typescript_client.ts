// Uses the types that openapi-typescript has generated: plain requests, a stream of server-sent events, the WebSocket. It has to
// compile in strict mode, and what arrives has to be what the types say.
import createClient from "openapi-fetch";
import { WebSocket } from "ws";
import type { ClientMessage, ServerMessage, StreamEvent, paths } from "./schema.js";

const url = process.env.BASE_URL ?? "";
const authorization = `Bearer ${process.env.TOKEN ?? ""}`;
const api = createClient<paths>({ baseUrl: url, headers: { authorization } });
const TOOL = '!tool read_file {"path": "foreword.yaml"}\n!then\n!say That was it.';

function must(fact: boolean, what: string): asserts fact {
  if (!fact) throw new Error(what);
}

async function begin(): Promise<string> {
  // Optional fields are optional.
  const { data, error } = await api.POST("/api/v1/conversations", { body: { title: "generated" } });
  must(data !== undefined, JSON.stringify(error));
  return data.id;
}

async function plainRequests(): Promise<void> {
  const id = await begin();
  const { data } = await api.POST("/api/v1/conversations/{id}/messages", { params: { path: { id } }, body: { text: "!say Hello." } });
  must(typeof data === "object" && data.outcome === "done", JSON.stringify(data));
  const built = await api.POST("/api/v1/prompts/build", { body: { user: "bob" } });
  must(built.response.ok, JSON.stringify(built.error));
  const { error } = await api.GET("/api/v1/layers/{id}", { params: { path: { id: "no-such-layer" } } });
  must(error?.code === "not_found", JSON.stringify(error));
}

/** What a client makes of a turn: every type of event, and every field of it, is known to the compiler. */
class Turn {
  text = "";
  tools: string[] = [];
  numbers: number[] = [];
  outcome: "done" | "failed" | "cancelled" | "interrupted" | undefined;
  private id: string | undefined;

  take(event: StreamEvent): void {
    if ("seq" in event && event.seq !== undefined) this.numbers.push(event.seq);
    switch (event.type) {
      case "turn_start":
        must(typeof event.turnId === "string" && Array.isArray(event.messages), "turn_start");
        this.id = event.turnId;
        break;
      case "text_delta":
        this.text += event.text;
        break;
      case "tool_call":
        must(typeof event.callId === "string", "tool_call");
        break;
      case "tool_result":
        must(event.isError === false && event.content.length > 0, "tool_result");
        this.tools.push(event.tool);
        break;
      case "turn_end":
        must(event.turnId === this.id && event.usage.cacheRead >= 0 && event.usage.output > 0, "turn_end");
        this.outcome = event.outcome;
        break;
      case "status":
      case "error":
        throw new Error(event.message);
      case "question":
        throw new Error(event.because);
      case "missed":
        throw new Error(`missed ${event.from} to ${event.to}: ${event.catchUp.by}`);
      case "accepted":
        must(typeof event.messageId === "string" && !event.before, "accepted");
        break;
      case "session_compacted":
        break;
      case "waiting_for_approval":
        throw new Error(event.question);
      default:
        event satisfies never;
    }
  }

  check(): void {
    must(this.text.includes("That was it.") && this.outcome === "done", JSON.stringify(this));
    must(this.tools.join() === "read_file", JSON.stringify(this));
    must(this.numbers.length > 3 && this.numbers.every((number, at) => at === 0 || number > (this.numbers[at - 1] ?? 0)), JSON.stringify(this));
  }
}

async function serverSentEvents(): Promise<void> {
  const id = await begin();
  const { data } = await api.POST("/api/v1/conversations/{id}/messages", {
    params: { path: { id } },
    body: { text: TOOL },
    headers: { accept: "text/event-stream" },
    parseAs: "text",
  });
  must(typeof data === "string", "no text");
  const turn = new Turn();
  for (const line of data.split("\n")) if (line.startsWith("data: ")) turn.take(JSON.parse(line.slice(6)) as StreamEvent);
  turn.check();
}

async function webSocket(): Promise<void> {
  const sessionId = await begin();
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws`, { headers: { authorization } });
  const say = (message: ClientMessage) => socket.send(JSON.stringify(message));
  const turn = new Turn();
  await new Promise<void>((done, failed) => {
    socket.on("error", failed);
    socket.on("open", () => say({ type: "ping", id: "1" }));
    socket.on("message", (raw) => {
      const heard = JSON.parse(String(raw)) as ServerMessage;
      try {
        switch (heard.type) {
          case "pong":
            must(heard.inReplyTo === "1", "pong");
            say({ type: "message", sessionId, text: TOOL });
            break;
          case "problem":
            must(heard.code === "not_found", heard.detail);
            done();
            break;
          case "subscribed":
          case "unsubscribed":
          case "cancelling":
          case "answered":
          case "updated":
            throw new Error(heard.sessionId);
          case "turn_end":
            turn.take(heard);
            say({ type: "subscribe", sessionId: "c-nowhere", after: 3 });
            break;
          default:
            turn.take(heard);
        }
      } catch (error) {
        failed(error);
      }
    });
  });
  socket.close();
  turn.check();
}

await plainRequests();
await serverSentEvents();
await webSocket();
console.log("plain requests, server-sent events, WebSocket");
