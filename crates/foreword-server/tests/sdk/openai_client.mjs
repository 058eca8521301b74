// The official `openai` library as a client. Prints a line for everything that went as its documentation says.
//
// BASE_URL is where it speaks to, KEY what it shows; STRAIGHT=1 if that is the scripted provider itself. SDK is where it is
// installed.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const { default: OpenAI } = await import(createRequire(process.env.SDK).resolve("openai"));
const model = "gpt-5";
const tool = {
  type: "function",
  function: {
    name: "weather",
    description: "The weather somewhere",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
};
const reach = (more) => new OpenAI({ baseURL: process.env.BASE_URL, apiKey: process.env.KEY, maxRetries: 2, ...more });
const [client, hasty] = [reach(), reach({ maxRetries: 0 })];
const ask = (words, via = client, more = {}, options = {}) =>
  via.chat.completions.create(
    {
      model,
      messages: [
        { role: "system", content: "You are a tester." },
        { role: "user", content: words },
      ],
      ...more,
    },
    options,
  );
const words = (answer) => answer.choices[0].message.content;
const collect = async (stream) => {
  let said = "";
  for await (const piece of stream) said += piece.choices[0]?.delta?.content ?? "";
  return said;
};

assert.equal(words(await ask("say good morning")), "Good morning.");
console.log("ok answer");

const streamed = { stream: true, stream_options: { include_usage: true } };
assert.equal(await collect(await ask("say good morning", client, streamed)), "Good morning.");
console.log("ok streaming");

const [first] = (await ask("use the tool", client, { tools: [tool] })).choices;
const [call] = first.message.tool_calls;
assert.deepEqual([first.finish_reason, call.function.name], ["tool_calls", "weather"]);
assert.deepEqual(JSON.parse(call.function.arguments), { city: "Oslo" });
const second = await client.chat.completions.create({
  model,
  tools: [tool],
  messages: [
    { role: "user", content: "use the tool" },
    first.message,
    { role: "tool", tool_call_id: call.id, content: "sunny" },
  ],
});
assert.equal(words(second), "It is sunny.");
console.log("ok tools");

await assert.rejects(ask("be refused"), (error) => {
  return error instanceof OpenAI.BadRequestError && error.message.includes("no such thing");
});
await assert.rejects(ask("be limited always", hasty), (error) => {
  return error instanceof OpenAI.RateLimitError && error.headers.get("retry-after") === "0";
});
console.log("ok errors");

assert.equal(words(await ask("be limited once")), "Good morning.");
console.log("ok the library's own retries");

await assert.rejects(ask("be silent", hasty, {}, { timeout: 500 }), OpenAI.APIConnectionTimeoutError);
console.log("ok time-outs");

await assert.rejects(async () => collect(await ask("be cut off", hasty, { stream: true })));
console.log("ok broken off");

if (!process.env.STRAIGHT) {
  assert.equal(words(await ask("be overloaded once", hasty)), "Good morning.");
  console.log("ok our retries");
  const stranger = reach({ apiKey: `fwd_${"a".repeat(32)}`, maxRetries: 0 });
  await assert.rejects(ask("say good morning", stranger), OpenAI.AuthenticationError);
  const asserting = reach({ maxRetries: 0, defaultHeaders: { "x-foreword-user": "alice" } });
  await assert.rejects(ask("say good morning", asserting), OpenAI.PermissionDeniedError);
  console.log("ok refusals of ours");
}
