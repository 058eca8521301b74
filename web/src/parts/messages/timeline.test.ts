import { describe, expect, it } from "vitest";
import type { MessageBody } from "../../api/schema";
import type { Turn } from "./reducer";
import { type Entry, timeline } from "./timeline";

let seq = 0;
const message = (
  id: string,
  role: MessageBody["role"],
  turn: string | null,
  more: Partial<MessageBody> = {},
): MessageBody =>
  ({
    seq: ++seq,
    id,
    role,
    kind: "message",
    author: role === "user" ? "alice" : "Assistant",
    trust: "full",
    at: "2026-11-17T02:12:12Z",
    turn,
    covered: false,
    content: [{ type: "text", text: id }],
    ...more,
  }) as MessageBody;
const live = (id: string, text: string, more: Partial<Turn> = {}): Turn => ({
  id,
  parts: [{ kind: "text", text }],
  ...more,
});
const line = (entry: Entry) =>
  entry.kind === "turn"
    ? `> ${entry.parts.map((part) => (part.kind === "text" ? part.text : part.tool)).join(" ")}${entry.notices.map((notice) => ` (${notice})`).join("")}`
    : entry.message.id;
const lines = (messages: MessageBody[], turns: Turn[] = [], since = 0) =>
  timeline({ messages, turns, since }).map(line);

describe("a conversation from top to bottom", () => {
  it("has each answer below what it answers, whatever was said meanwhile", () => {
    const all = [
      message("m1", "user", "t1"),
      message("m2", "user", "t2"),
      message("a1", "assistant", "t1"),
      message("a2", "assistant", "t2"),
    ];
    expect(lines(all)).toEqual(["m1", "> a1", "m2", "> a2"]);
  });

  it("shows a turn that runs below its message, and what waits below that", () => {
    expect(lines([message("m1", "user", "t1"), message("m2", "user", null)], [live("t1", "so far")])).toEqual([
      "m1",
      "> so far",
      "m2",
    ]);
  });

  it("tells a turn once, by the history as soon as it has it", () => {
    const all = [message("m1", "user", "t1"), message("a1", "assistant", "t1")];
    expect(lines(all, [live("t1", "streamed", { outcome: "done" })])).toEqual(["m1", "> a1"]);
    expect(lines([message("m1", "user", "t1")], [live("t1", "streamed", { outcome: "done" })])).toEqual([
      "m1",
      "> streamed",
    ]);
  });

  it("puts a turn whose message is not known yet at the end", () => {
    expect(lines([message("m1", "user", "t1"), message("a1", "assistant", "t1")], [live("t2", "new")])).toEqual([
      "m1",
      "> a1",
      "> new",
    ]);
  });

  it("leaves out a turn that ended before, and stands on an earlier page", () => {
    const all = [message("m9", "user", "t9"), message("a9", "assistant", "t9")];
    expect(lines(all, [live("t1", "old", { outcome: "done", ended: 7 })], 20)).toEqual(["m9", "> a9"]);
    expect(lines(all, [live("t10", "new", { outcome: "done", ended: 25 })], 20)).toEqual(["m9", "> a9", "> new"]);
  });

  it("keeps notices and summaries in their places", () => {
    const all = [
      message("m1", "user", "t1"),
      message("This turn failed.", "system", "t1", { kind: "notice", author: null }),
      message("s", "user", "t1", { kind: "summary" }),
      message("m2", "user", "t2"),
    ];
    expect(lines(all)).toEqual(["m1", ">  (This turn failed.)", "s", "m2"]);
  });
});
