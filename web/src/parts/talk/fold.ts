// Folds what happens in a conversation into what there is to show. Pure: the same items give the same, in whatever pieces they
// come, and one that came before changes nothing.
import type { MessageBody, MissedEvent, QuestionEvent, StreamEvent, ToolCallEvent, TurnEndEvent, TurnStartEvent } from "../../api/schema";
import { type Part, gave } from "./parts";

/** The events of a conversation. The replies of a single request, that its message was accepted or waits for approval, are not among them. */
export type Item = Exclude<StreamEvent, { type: "accepted" | "waiting_for_approval" }>;
type Happening = Exclude<Item, { type: "missed" }>;

export type Question = Pick<QuestionEvent, "callId" | "tool" | "arguments" | "because">;

/** A turn as the stream tells it. */
export interface Turn {
  id: string;
  parts: Part[];
  /** How it goes, until there is more to show. */
  status?: string;
  question?: Question;
  error?: string;
  outcome?: TurnEndEvent["outcome"];
  usage?: TurnEndEvent["usage"];
  cost?: number | null;
  /** The number of its end. */
  ended?: number;
  /** Its end was told by another node: what it took is not known here. */
  incomplete?: boolean;
}

export interface Talk {
  /** The last number that was read. */
  last: number;
  /** What the history has, by its place. */
  messages: MessageBody[];
  /** Where earlier messages are asked for; null if there are none. */
  earlier: string | null;
  /** The last number there was when we began to look on. What ended up to there is in the history. */
  since: number;
  /** Whether the history was read. */
  loaded: boolean;
  /** The turns that the stream has told of, in the order they began. */
  turns: Turn[];
  /** Grows whenever the history has something that the stream has not. */
  wants: number;
}

export type Event = Item | { type: "read"; items: MessageBody[]; next?: string | null; earlier?: boolean } | { type: "joined"; last: number } | { type: "accepted"; message: MessageBody };

export const NOTHING: Talk = { last: 0, messages: [], earlier: null, since: 0, loaded: false, turns: [], wants: 0 };

export function fold(talk: Talk, event: Event): Talk {
  switch (event.type) {
    case "read":
      return read(talk, event.items, event.next ?? null, event.earlier ?? false);
    case "joined":
      return { ...talk, since: event.last };
    case "accepted":
      return accepted(talk, event.message);
    case "missed":
      return missed(talk, event);
    default:
      // What came before, and comes again after the connection was lost.
      return event.seq === undefined || event.seq <= talk.last ? talk : happened({ ...talk, last: event.seq }, event);
  }
}

/** A page of the history. Newer pages tell of older messages too what has become of them, such as that a summary stands for them. */
function read(talk: Talk, items: MessageBody[], next: string | null, earlier: boolean): Talk {
  const known = new Set(talk.messages.map((message) => message.id));
  // So much was said meanwhile that the page does not reach what is shown: begin anew, the rest is a page away.
  const apart = !earlier && next !== null && known.size > 0 && !items.some((message) => known.has(message.id));
  const kept = apart ? [] : talk.messages;
  const byId = new Map(kept.map((message) => [message.id, message]));
  for (const message of items) byId.set(message.id, message);
  const messages = [...byId.values()].sort((one, other) => one.seq - other.seq);
  const whole = earlier || apart || !talk.loaded;
  return { ...talk, messages, loaded: true, earlier: whole ? next : talk.earlier };
}

/** A message of this page was taken in: it is shown at the end until the history says where it stands. */
function accepted(talk: Talk, message: MessageBody): Talk {
  if (talk.messages.some((known) => known.id === message.id)) return talk;
  const seq = Math.max(0, ...talk.messages.map((known) => known.seq)) + 1;
  return { ...talk, messages: [...talk.messages, { ...message, seq }] };
}

function missed(talk: Talk, { to, catchUp }: MissedEvent): Talk {
  if (catchUp.by === "replay") return talk;
  // Of a turn that has a hole in it nothing is shown but what the history has.
  const turns = talk.turns.filter((turn) => turn.outcome !== undefined);
  return { ...talk, last: Math.max(talk.last, to), turns, wants: talk.wants + 1 };
}

function happened(talk: Talk, item: Happening): Talk {
  if (item.type === "turn_start") return begun(talk, item);
  if (item.type === "session_compacted") return { ...talk, wants: talk.wants + 1 };
  if (!item.turnId) return talk;
  const known = talk.turns.find((turn) => turn.id === item.turnId);
  const turn = told(known ?? { id: item.turnId, parts: [] }, item);
  const turns = known ? talk.turns.map((one) => (one === known ? turn : one)) : [...talk.turns, turn];
  // Notices, and words that the stream never told, are in the history.
  const more = item.type === "turn_end" && (item.incomplete || item.outcome !== "done");
  return { ...talk, turns, wants: talk.wants + (more ? 1 : 0) };
}

function begun(talk: Talk, item: TurnStartEvent): Talk {
  const known = talk.turns.find((turn) => turn.id === item.turnId);
  const turn: Turn = { id: item.turnId, parts: known && item.resumed ? upToLastResult(known.parts) : [] };
  const turns = known ? talk.turns.map((one) => (one === known ? turn : one)) : [...talk.turns, turn];
  const answered = new Set(item.messages);
  const messages = talk.messages.map((message) => (answered.has(message.id) && message.turn !== turn.id ? { ...message, turn: turn.id } : message));
  const here = messages.filter((message) => answered.has(message.id)).length;
  // Somebody else's words are not in the stream.
  return { ...talk, turns, messages, wants: talk.wants + (here < answered.size ? 1 : 0) };
}

/** What a turn that goes on has said for good: the rest is said anew. */
function upToLastResult(parts: Part[]): Part[] {
  return parts.slice(0, parts.findLastIndex((part) => part.kind === "tool" && part.result !== undefined) + 1);
}

function told(turn: Turn, item: Exclude<Happening, { type: "turn_start" | "session_compacted" }>): Turn {
  const on: Turn = { ...turn, status: undefined };
  switch (item.type) {
    case "text_delta":
      return { ...on, parts: withWords(turn.parts, item.text) };
    case "tool_call":
      return { ...on, question: undefined, parts: withCall(turn.parts, item) };
    case "tool_result": {
      const parts = [...turn.parts];
      gave(parts, item.callId, { result: item.content, failed: item.isError, truncated: item.truncated }, item.tool);
      return { ...on, question: undefined, parts };
    }
    case "status":
      return { ...turn, status: item.message };
    case "question":
      return { ...on, question: { callId: item.callId, tool: item.tool, arguments: item.arguments, because: item.because } };
    case "error":
      return item.kind === "turn_left" ? { ...on, question: undefined, status: item.message } : { ...on, error: item.message };
    case "turn_end":
      return { ...on, question: undefined, outcome: item.outcome, ended: item.seq, usage: item.usage, cost: item.cost, incomplete: item.incomplete };
  }
}

function withWords(parts: Part[], text: string): Part[] {
  const last = parts.at(-1);
  return last?.kind === "words" ? [...parts.slice(0, -1), { kind: "words", text: last.text + text }] : [...parts, { kind: "words", text }];
}

/** A call that was told before and has given nothing yet is the same call. */
function withCall(parts: Part[], item: ToolCallEvent): Part[] {
  const known = parts.findLastIndex((part) => part.kind === "tool" && part.call === item.callId && part.result === undefined);
  const use: Part = { kind: "tool", call: item.callId, tool: item.tool, input: item.truncated ? undefined : item.arguments, truncated: item.truncated };
  return known < 0 ? [...parts, use] : parts.map((part, at) => (at === known ? use : part));
}

/** The turn that runs now, if one does. */
export function running(talk: Talk): Turn | undefined {
  return talk.turns.findLast((turn) => turn.outcome === undefined);
}
