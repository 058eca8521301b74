import { describe, expect, it } from "vitest";
import { createOutgoing } from "./outgoing_message";

const alice = { user: "alice", trust: "full", scopes: ["chat", "assert"], owner: true };
const bob = { user: "bob", trust: "inner", scopes: ["chat"], owner: false };

describe("a letter", () => {
  it("to a conversation says where, and begins nothing", () => {
    expect(createOutgoing("Hi.", { conversation: "c-1", speaker: "carol" }, alice)).toMatchObject({
      conversation: "c-1",
      begin: undefined,
      speaker: { user: "carol" },
      author: "carol",
    });
  });

  it("to nobody yet says how its conversation begins", () => {
    const outgoing = createOutgoing(
      "Hi.",
      { conversation: undefined, occasion: { user: "bob", situation: "group", agent: "scribe" } },
      alice,
    );
    expect(outgoing).toMatchObject({
      conversation: undefined,
      begin: { agent: "scribe", id: expect.stringMatching(/^c-/) },
      speaker: { user: "bob", situation: "group" },
      author: "bob",
    });
  });

  it("of somebody who may not name others is their own, and the server names the conversation", () => {
    const outgoing = createOutgoing("Hi.", { conversation: undefined, occasion: { user: "alice" } }, bob);
    expect(outgoing).toMatchObject({ begin: { id: undefined }, speaker: undefined, author: "bob" });
  });

  it("has a key of its own", () => {
    const target = { conversation: "c-1", speaker: undefined };
    expect(createOutgoing("Hi.", target, alice).key).not.toBe(createOutgoing("Hi.", target, alice).key);
  });
});
