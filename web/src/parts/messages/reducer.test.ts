import { describe, expect, it } from "vitest";
import type { MessageBody } from "../../api/schema";
import {
  type Action,
  type ConversationEvent,
  type ConversationState,
  INITIAL_STATE,
  reduce,
  runningTurn,
} from "./reducer";

let seq = 0;
type Loose = { type: ConversationEvent["type"] } & Record<string, unknown>;
/** Events of turn t-1, with consecutive numbers. */
const items = (...all: Loose[]): Action[] => {
  seq = 0;
  return all.map((item) => ({ sessionId: "c-1", seq: ++seq, turnId: "t-1", ...item }) as unknown as ConversationEvent);
};
const start = (more: object = {}): Loose => ({ type: "turn_start", messages: [], ...more });
const words = (text: string): Loose => ({ type: "text_delta", text });
const call = (callId: string): Loose => ({ type: "tool_call", callId, tool: "look", arguments: { at: callId } });
const result = (callId: string, isError = false): Loose => ({
  type: "tool_result",
  callId,
  tool: "look",
  content: `got ${callId}`,
  isError,
});
const end = (outcome = "done", more: object = {}): Loose => ({
  type: "turn_end",
  outcome,
  usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 },
  cost: 0.5,
  ...more,
});
const stateAfter = (events: Action[], state: ConversationState = INITIAL_STATE) => events.reduce(reduce, state);

/** The turn in one line: text as it is, tools in brackets. */
const shown = (state: ConversationState) =>
  state.turns[0]?.parts
    .map((part) =>
      part.kind === "text"
        ? part.text
        : `[${part.call}${part.result === undefined ? "" : part.failed ? ":failed" : ":done"}]`,
    )
    .join("");

const message = (id: string, more: Partial<MessageBody> = {}): MessageBody =>
  ({
    seq: 1,
    id,
    role: "user",
    kind: "message",
    author: "alice",
    trust: "full",
    at: "2026-11-17T02:12:12Z",
    turn: null,
    covered: false,
    content: [{ type: "text", text: id }],
    ...more,
  }) as MessageBody;

describe("what a turn says", () => {
  it.each<[string, Loose[], string]>([
    ["words one after the other", [start(), words("one "), words("two")], "one two"],
    [
      "words around a tool",
      [start(), words("I look. "), call("a"), result("a"), words("Found.")],
      "I look. [a:done]Found.",
    ],
    ["tools at the same time", [start(), call("a"), call("b"), result("b"), result("a", true)], "[a:failed][b:done]"],
    ["a call that is told twice", [start(), call("a"), call("a"), result("a")], "[a:done]"],
    ["calls that are numbered anew", [start(), call("1"), result("1"), call("1"), result("1")], "[1:done][1:done]"],
    [
      "a turn that goes on says anew what it said since its last tool",
      [start(), words("a "), call("x"), result("x"), words("b "), call("y"), start({ resumed: true }), words("c")],
      "a [x:done]c",
    ],
    [
      "one without tools says everything anew",
      [start(), words("lost"), start({ resumed: true }), words("kept")],
      "kept",
    ],
    ["a turn whose start was not seen", [words("late")], "late"],
    ["nothing", [start(), end()], ""],
  ])("%s", (_, all, expected) => expect(shown(stateAfter(items(...all)))).toBe(expected));

  it("is the same in one piece and with every item twice", () => {
    const all = items(start(), words("a "), call("x"), result("x"), words("b"), end());
    const twice = all.flatMap((item, at) => [item, ...all.slice(0, at + 1)]);
    expect(stateAfter(twice)).toEqual(stateAfter(all));
  });

  it("leaves out what comes behind its number, and minds no hole that others may see into", () => {
    const [first, second, third] = items(start(), words("a "), words("b ")) as [Action, Action, Action];
    expect(shown(stateAfter([first, third, second]))).toBe("b ");
    expect(shown(stateAfter([first, { ...third, seq: 90 } as Action]))).toBe("b ");
  });
});

describe("how a turn goes", () => {
  it("is told until there is more to show", () => {
    const limited = stateAfter(items(start(), { type: "status", message: "Rate limited. Retrying in 3s..." }));
    expect(runningTurn(limited)?.status).toBe("Rate limited. Retrying in 3s...");
    expect(
      runningTurn(reduce(limited, { ...items(words("x"))[0], seq: 3 } as ConversationEvent))?.status,
    ).toBeUndefined();
  });

  it.each([
    ["done", 0],
    ["failed", 1],
    ["cancelled", 1],
    ["interrupted", 1],
  ])("ends: %s; what the history says of it is asked for %i times", (outcome, reloads) => {
    const state = stateAfter(items(start(), words("a"), end(outcome)));
    expect(runningTurn(state)).toBeUndefined();
    expect(state.turns[0]).toMatchObject({ outcome, cost: 0.5, usage: { cacheRead: 3 } });
    expect(state.reloads).toBe(reloads);
  });

  it("asks, until it is answered or over", () => {
    const unwrap = items(start(), { type: "question", callId: "q", tool: "bash", arguments: {}, because: "why" });
    expect(runningTurn(stateAfter(unwrap))?.question?.tool).toBe("bash");
    expect(
      runningTurn(stateAfter([...unwrap, ...items(start(), start(), call("q")).slice(2)]))?.question,
    ).toBeUndefined();
    expect(
      stateAfter([...unwrap, ...items(start(), start(), end("cancelled")).slice(2)]).turns[0]?.question,
    ).toBeUndefined();
  });

  it("fails with its reason, and one that is left goes on", () => {
    expect(
      stateAfter(items(start(), { type: "error", kind: "provider_permanent", message: "no key" })).turns[0]?.error,
    ).toBe("no key");
    const left = stateAfter(items(start(), { type: "error", kind: "turn_left", message: "taken up again" }));
    expect(runningTurn(left)).toMatchObject({ status: "taken up again" });
    expect(runningTurn(left)?.error).toBeUndefined();
  });
});

describe("the history", () => {
  const page = (items: MessageBody[], next: string | null = null): Action => ({ type: "read", items, next });

  it("is asked for when somebody else has spoken, when there was a summary, and when something was missed", () => {
    expect(stateAfter(items(start({ messages: ["m-9"] }))).reloads).toBe(1);
    expect(stateAfter([page([message("m-9")]), ...items(start({ messages: ["m-9"] }))]).reloads).toBe(0);
    expect(stateAfter(items({ type: "session_compacted" })).reloads).toBe(1);
    expect(stateAfter(items(start(), end("done", { incomplete: true }))).reloads).toBe(1);
  });

  it("stands for a turn with a hole in it", () => {
    const state = stateAfter([
      ...items(start(), words("a ")),
      { type: "missed", sessionId: "c-1", from: 3, to: 40, catchUp: { by: "messages", href: "" } },
    ]);
    expect(state).toMatchObject({ last: 40, turns: [], reloads: 1 });
  });

  it("is not asked for when what was missed follows", () => {
    const state = stateAfter([
      ...items(start(), words("a ")),
      { type: "missed", sessionId: "c-1", from: 3, to: 40, catchUp: { by: "replay" } },
    ]);
    expect([state.last, shown(state), state.reloads]).toEqual([2, "a ", 0]);
  });

  it("takes its messages in once, in order, and what is newer counts", () => {
    const state = stateAfter([
      page([message("b", { seq: 5 }), message("a", { seq: 4 })], "4"),
      page([message("b", { seq: 5, covered: true }), message("c", { seq: 6 })]),
      { type: "read", items: [message("z", { seq: 2 })], next: null, earlier: true },
    ]);
    expect(state.messages.map((one) => [one.id, one.covered])).toEqual([
      ["z", false],
      ["a", false],
      ["b", true],
      ["c", false],
    ]);
    expect(state.earlier).toBeNull();
  });

  it("begins anew where a page does not reach what is shown", () => {
    const state = stateAfter([page([message("a", { seq: 4 })], null), page([message("k", { seq: 90 })], "90")]);
    expect([state.messages.map((one) => one.id), state.earlier]).toEqual([["k"], "90"]);
  });

  it("says where a message of this page stands that was shown at once", () => {
    const sent = stateAfter([
      page([message("a", { seq: 4 })]),
      { type: "accepted", message: message("mine", { seq: 0 }) },
    ]);
    expect(sent.messages.map((one) => one.seq)).toEqual([4, 5]);
    expect(reduce(sent, { type: "accepted", message: message("mine") })).toBe(sent);
    expect(stateAfter([page([message("mine", { seq: 9 })])], sent).messages.map((one) => one.seq)).toEqual([4, 9]);
  });
});
