// The official `@anthropic-ai/sdk` as a client. Prints a line for everything that went as its documentation says.
//
// BASE_URL is where it speaks to, KEY what it shows; STRAIGHT=1 if that is the scripted provider itself. SDK is where it is
// installed.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const { default: Anthropic } = await import(createRequire(process.env.SDK).resolve("@anthropic-ai/sdk"));
const model = "claude-sonnet-4-5";
const tool = {
  name: "weather",
  description: "The weather somewhere",
  input_schema: { type: "object", properties: { city: { type: "string" } } },
};
const reach = (more) =>
  new Anthropic({ baseURL: process.env.BASE_URL, apiKey: process.env.KEY, maxRetries: 2, ...more });
const [client, hasty] = [reach(), reach({ maxRetries: 0 })];
const request = (words, more) => ({
  model,
  max_tokens: 64,
  system: "You are a tester.",
  messages: [{ role: "user", content: words }],
  ...more,
});
const ask = (words, via = client, more = {}, options = {}) => via.messages.create(request(words, more), options);

assert.equal((await ask("say good morning")).content[0].text, "Good morning.");
console.log("ok answer");

let said = "";
const stream = client.messages.stream(request("say good morning"));
stream.on("text", (text) => (said += text));
assert.equal((await stream.finalMessage()).stop_reason, "end_turn");
assert.equal(said, "Good morning.");
console.log("ok streaming");

const first = await ask("use the tool", client, { tools: [tool] });
const call = first.content.find((block) => block.type === "tool_use");
assert.deepEqual([first.stop_reason, call.name, call.input], ["tool_use", "weather", { city: "Oslo" }]);
const second = await client.messages.create({
  ...request("use the tool", { tools: [tool] }),
  messages: [
    { role: "user", content: "use the tool" },
    { role: "assistant", content: first.content },
    { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "sunny" }] },
  ],
});
assert.equal(second.content[0].text, "It is sunny.");
console.log("ok tools");

await assert.rejects(ask("be refused"), (error) => {
  return error instanceof Anthropic.BadRequestError && error.message.includes("no such thing");
});
await assert.rejects(ask("be limited always", hasty), (error) => {
  return error instanceof Anthropic.RateLimitError && error.headers.get("retry-after") === "0";
});
console.log("ok errors");

assert.equal((await ask("be limited once")).content[0].text, "Good morning.");
console.log("ok the library's own retries");

await assert.rejects(ask("be silent", hasty, {}, { timeout: 500 }), Anthropic.APIConnectionTimeoutError);
console.log("ok time-outs");

await assert.rejects(hasty.messages.stream(request("be cut off")).finalMessage());
console.log("ok broken off");

if (!process.env.STRAIGHT) {
  assert.equal((await ask("be overloaded once", hasty)).content[0].text, "Good morning.");
  console.log("ok our retries");
  const stranger = reach({ apiKey: `fwd_${"a".repeat(32)}`, maxRetries: 0 });
  await assert.rejects(ask("say good morning", stranger), Anthropic.AuthenticationError);
  const asserting = reach({ maxRetries: 0, defaultHeaders: { "x-foreword-user": "alice" } });
  await assert.rejects(ask("say good morning", asserting), Anthropic.PermissionDeniedError);
  console.log("ok refusals of ours");
}
