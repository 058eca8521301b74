"""The official `openai` library as a client. Prints a line for everything that went as its documentation says.

BASE_URL is where it speaks to, KEY what it shows; STRAIGHT=1 if that is the scripted provider itself.
"""

import json
import os

import openai

MODEL = "gpt-5"
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather somewhere",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
client = openai.OpenAI(base_url=os.environ["BASE_URL"], api_key=os.environ["KEY"], max_retries=2)
hasty = client.with_options(max_retries=0)


def ask(words, via=client, **more):
    messages = [{"role": "system", "content": "You are a tester."}, {"role": "user", "content": words}]
    return via.chat.completions.create(model=MODEL, messages=messages, **more)


def fails(kind, act):
    try:
        act()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected")


assert ask("say good morning").choices[0].message.content == "Good morning."
print("ok answer")

pieces = ask("say good morning", stream=True, stream_options={"include_usage": True})
said = [piece.choices[0].delta.content or "" for piece in pieces if piece.choices]
assert "".join(said) == "Good morning.", said
print("ok streaming")

first = ask("use the tool", tools=[TOOL]).choices[0]
call = first.message.tool_calls[0]
assert (first.finish_reason, call.function.name) == ("tool_calls", "weather")
assert json.loads(call.function.arguments) == {"city": "Oslo"}
second = client.chat.completions.create(
    model=MODEL,
    tools=[TOOL],
    messages=[
        {"role": "user", "content": "use the tool"},
        first.message,
        {"role": "tool", "tool_call_id": call.id, "content": "sunny"},
    ],
)
assert second.choices[0].message.content == "It is sunny."
print("ok tools")

error = fails(openai.BadRequestError, lambda: ask("be refused"))
assert "no such thing" in str(error), error
error = fails(openai.RateLimitError, lambda: ask("be limited always", hasty))
assert error.response.headers["retry-after"] == "0"
print("ok errors")

assert ask("be limited once").choices[0].message.content == "Good morning."
print("ok the library's own retries")

fails(openai.APITimeoutError, lambda: ask("be silent", client.with_options(max_retries=0, timeout=0.5)))
print("ok time-outs")

fails(Exception, lambda: list(ask("be cut off", hasty, stream=True)))
print("ok broken off")

if not os.environ.get("STRAIGHT"):
    assert ask("be overloaded once", hasty).choices[0].message.content == "Good morning."
    print("ok our retries")
    stranger = client.with_options(api_key="fwd_" + "a" * 32, max_retries=0)
    fails(openai.AuthenticationError, lambda: ask("say good morning", stranger))
    asserting = hasty.with_options(default_headers={"x-foreword-user": "alice"})
    fails(openai.PermissionDeniedError, lambda: ask("say good morning", asserting))
    print("ok refusals of ours")
