import { describe, expect, it } from "vitest";
import type { MessageBody } from "../../api/schema";
import { isWithheldMessage, partsOf } from "./parts";

const message = (content: MessageBody["content"], more: Partial<MessageBody> = {}): MessageBody =>
  ({
    seq: 1,
    id: "m-1",
    role: "assistant",
    kind: "message",
    author: "Assistant",
    trust: "full",
    at: "2026-11-17T02:12:12Z",
    turn: "t-1",
    covered: false,
    content,
    ...more,
  }) as MessageBody;

describe("the parts of an answer", () => {
  it("have results with their calls", () => {
    const said = message([
      { type: "text", text: "I look." },
      { type: "tool_call", id: "c1", name: "bash", input: { command: "ls" } },
    ]);
    const result = message([{ type: "tool_result", call: "c1", content: "no", is_error: true }], { role: "tool" });
    expect(partsOf([said, result])).toEqual([
      { kind: "text", text: "I look." },
      { kind: "tool", call: "c1", tool: "bash", input: { command: "ls" }, result: "no", failed: true },
    ]);
  });

  it("keep calls apart that have the same id", () => {
    const call = (input: string) => message([{ type: "tool_call", id: "1", name: "look", input }]);
    const result = (content: string) => message([{ type: "tool_result", call: "1", content, is_error: false }]);
    expect(
      partsOf([call("a"), result("A"), call("b"), result("B")]).map(
        (part) => part.kind === "tool" && [part.input, part.result],
      ),
    ).toEqual([
      ["a", "A"],
      ["b", "B"],
    ]);
  });

  it("show a result whose call is not there", () => {
    expect(partsOf([message([{ type: "tool_result", call: "9", content: "x", is_error: false }])])).toEqual([
      { kind: "tool", call: "9", tool: "a tool", input: undefined, result: "x", failed: false },
    ]);
  });
});

describe("what is withheld", () => {
  it("is told by its id, and not by words that anybody may write", () => {
    const line = "[A message of this conversation is withheld here.]";
    expect(isWithheldMessage(message([{ type: "text", text: line }], { id: "withheld-4" }))).toBe(true);
    expect(isWithheldMessage(message([{ type: "text", text: line }]))).toBe(false);
  });
});
