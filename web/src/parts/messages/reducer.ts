// A pure reducer from the events of a conversation to the state the page shows. Duplicate events change nothing.
import type {
  MessageBody,
  MissedEvent,
  QuestionEvent,
  StreamEvent,
  ToolCallEvent,
  TurnEndEvent,
  TurnStartEvent,
} from "../../api/schema";
import { attachResult, type Part } from "./parts";

/** The events of a conversation, without the replies to single requests (accepted, waiting for approval). */
export type ConversationEvent = Exclude<StreamEvent, { type: "accepted" | "waiting_for_approval" }>;
type TurnEvent = Exclude<ConversationEvent, { type: "missed" }>;

export type Question = Pick<QuestionEvent, "callId" | "tool" | "arguments" | "because">;

/** A turn as the event stream describes it. */
export interface Turn {
  id: string;
  parts: Part[];
  /** The current status, until there is content to show. */
  status?: string;
  question?: Question;
  error?: string;
  outcome?: TurnEndEvent["outcome"];
  usage?: TurnEndEvent["usage"];
  cost?: number | null;
  /** The sequence number of its last event. */
  ended?: number;
  /** Another node reported the end, so the usage is unknown here. */
  incomplete?: boolean;
}

export interface ConversationState {
  /** The last sequence number read. */
  last: number;
  /** The messages of the history, ordered by sequence number. */
  messages: MessageBody[];
  /** The cursor of earlier messages; null if there are none. */
  earlier: string | null;
  /** The last sequence number when the stream was joined. Turns that ended before it are in the history. */
  since: number;
  /** Whether the history is loaded. */
  loaded: boolean;
  /** The turns seen in the stream, in the order they started. */
  turns: Turn[];
  /** Incremented whenever the history has something the stream lacks, to trigger a reload. */
  reloads: number;
}

export type Action =
  | ConversationEvent
  | { type: "read"; items: MessageBody[]; next?: string | null; earlier?: boolean }
  | { type: "joined"; last: number }
  | { type: "accepted"; message: MessageBody };

export const INITIAL_STATE: ConversationState = {
  last: 0,
  messages: [],
  earlier: null,
  since: 0,
  loaded: false,
  turns: [],
  reloads: 0,
};

export function reduce(state: ConversationState, event: Action): ConversationState {
  switch (event.type) {
    case "read":
      return mergePage(state, event.items, event.next ?? null, event.earlier ?? false);
    case "joined":
      return { ...state, since: event.last };
    case "accepted":
      return accepted(state, event.message);
    case "missed":
      return missed(state, event);
    default:
      // Ignore events that a reconnected stream replays.
      return event.seq === undefined || event.seq <= state.last
        ? state
        : applyEvent({ ...state, last: event.seq }, event);
  }
}

/** Merges a page of the history. It also updates known messages, for example when a summary now covers them. */
function mergePage(
  state: ConversationState,
  items: MessageBody[],
  next: string | null,
  earlier: boolean,
): ConversationState {
  const known = new Set(state.messages.map((message) => message.id));
  // The page does not reach the shown messages because too many arrived: start again from this page.
  const gap = !earlier && next !== null && known.size > 0 && !items.some((message) => known.has(message.id));
  const base = gap ? [] : state.messages;
  const byId = new Map(base.map((message) => [message.id, message]));
  for (const message of items) byId.set(message.id, message);
  const messages = [...byId.values()].sort((one, other) => one.seq - other.seq);
  const whole = earlier || gap || !state.loaded;
  return { ...state, messages, loaded: true, earlier: whole ? next : state.earlier };
}

/** Appends a message that this page has sent; the history sets its final position. */
function accepted(state: ConversationState, message: MessageBody): ConversationState {
  if (state.messages.some((known) => known.id === message.id)) return state;
  const seq = Math.max(0, ...state.messages.map((known) => known.seq)) + 1;
  return { ...state, messages: [...state.messages, { ...message, seq }] };
}

function missed(state: ConversationState, { to, catchUp }: MissedEvent): ConversationState {
  if (catchUp.by === "replay") return state;
  // The stream has a gap: show incomplete turns only as the history has them.
  const turns = state.turns.filter((turn) => turn.outcome !== undefined);
  return { ...state, last: Math.max(state.last, to), turns, reloads: state.reloads + 1 };
}

function applyEvent(state: ConversationState, item: TurnEvent): ConversationState {
  if (item.type === "turn_start") return startTurn(state, item);
  if (item.type === "session_compacted") return { ...state, reloads: state.reloads + 1 };
  if (!item.turnId) return state;
  const known = state.turns.find((turn) => turn.id === item.turnId);
  const turn = updateTurn(known ?? { id: item.turnId, parts: [] }, item);
  const turns = known ? state.turns.map((one) => (one === known ? turn : one)) : [...state.turns, turn];
  // Notices, and text the stream did not carry, are in the history.
  const more = item.type === "turn_end" && (item.incomplete || item.outcome !== "done");
  return { ...state, turns, reloads: state.reloads + (more ? 1 : 0) };
}

function startTurn(state: ConversationState, item: TurnStartEvent): ConversationState {
  const known = state.turns.find((turn) => turn.id === item.turnId);
  const turn: Turn = { id: item.turnId, parts: known && item.resumed ? upToLastResult(known.parts) : [] };
  const turns = known ? state.turns.map((one) => (one === known ? turn : one)) : [...state.turns, turn];
  const answered = new Set(item.messages);
  const messages = state.messages.map((message) =>
    answered.has(message.id) && message.turn !== turn.id ? { ...message, turn: turn.id } : message,
  );
  const here = messages.filter((message) => answered.has(message.id)).length;
  // Messages of other people are not in the stream.
  return { ...state, turns, messages, reloads: state.reloads + (here < answered.size ? 1 : 0) };
}

/** The parts that a resumed turn keeps; the model generates the rest again. */
function upToLastResult(parts: Part[]): Part[] {
  return parts.slice(0, parts.findLastIndex((part) => part.kind === "tool" && part.result !== undefined) + 1);
}

function updateTurn(turn: Turn, item: Exclude<TurnEvent, { type: "turn_start" | "session_compacted" }>): Turn {
  const on: Turn = { ...turn, status: undefined };
  switch (item.type) {
    case "text_delta":
      return { ...on, parts: withText(turn.parts, item.text) };
    case "tool_call":
      return { ...on, question: undefined, parts: withCall(turn.parts, item) };
    case "tool_result": {
      const parts = [...turn.parts];
      attachResult(
        parts,
        item.callId,
        { result: item.content, failed: item.isError, truncated: item.truncated },
        item.tool,
      );
      return { ...on, question: undefined, parts };
    }
    case "status":
      return { ...turn, status: item.message };
    case "question":
      return {
        ...on,
        question: { callId: item.callId, tool: item.tool, arguments: item.arguments, because: item.because },
      };
    case "error":
      return item.kind === "turn_left"
        ? { ...on, question: undefined, status: item.message }
        : { ...on, error: item.message };
    case "turn_end":
      return {
        ...on,
        question: undefined,
        outcome: item.outcome,
        ended: item.seq,
        usage: item.usage,
        cost: item.cost,
        incomplete: item.incomplete,
      };
  }
}

function withText(parts: Part[], text: string): Part[] {
  const last = parts.at(-1);
  return last?.kind === "text"
    ? [...parts.slice(0, -1), { kind: "text", text: last.text + text }]
    : [...parts, { kind: "text", text }];
}

/** A repeated call without a result is the same call. */
function withCall(parts: Part[], item: ToolCallEvent): Part[] {
  const known = parts.findLastIndex(
    (part) => part.kind === "tool" && part.call === item.callId && part.result === undefined,
  );
  const use: Part = {
    kind: "tool",
    call: item.callId,
    tool: item.tool,
    input: item.truncated ? undefined : item.arguments,
    truncated: item.truncated,
  };
  return known < 0 ? [...parts, use] : parts.map((part, at) => (at === known ? use : part));
}

/** The running turn, if there is one. */
export function runningTurn(state: ConversationState): Turn | undefined {
  return state.turns.findLast((turn) => turn.outcome === undefined);
}
