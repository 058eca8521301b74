"""The official `anthropic` library as a client. Prints a line for everything that went as its documentation says.

BASE_URL is where it speaks to, KEY what it shows; STRAIGHT=1 if that is the scripted provider itself.
"""

import os

import anthropic

MODEL = "claude-sonnet-4-5"
TOOL = {
    "name": "weather",
    "description": "The weather somewhere",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
client = anthropic.Anthropic(base_url=os.environ["BASE_URL"], api_key=os.environ["KEY"], max_retries=2)
hasty = client.with_options(max_retries=0)


def ask(words, via=client, **more):
    return via.messages.create(
        model=MODEL,
        max_tokens=64,
        system="You are a tester.",
        messages=[{"role": "user", "content": words}],
        **more,
    )


def fails(kind, act):
    try:
        act()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected")


assert ask("say good morning").content[0].text == "Good morning."
print("ok answer")

with client.messages.stream(
    model=MODEL, max_tokens=64, system="You are a tester.", messages=[{"role": "user", "content": "say good morning"}]
) as stream:
    assert "".join(stream.text_stream) == "Good morning."
    assert stream.get_final_message().stop_reason == "end_turn"
print("ok streaming")

first = ask("use the tool", tools=[TOOL])
call = next(block for block in first.content if block.type == "tool_use")
assert (first.stop_reason, call.name, call.input) == ("tool_use", "weather", {"city": "Oslo"})
second = client.messages.create(
    model=MODEL,
    max_tokens=64,
    tools=[TOOL],
    messages=[
        {"role": "user", "content": "use the tool"},
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}]},
    ],
)
assert second.content[0].text == "It is sunny."
print("ok tools")

error = fails(anthropic.BadRequestError, lambda: ask("be refused"))
assert "no such thing" in str(error), error
error = fails(anthropic.RateLimitError, lambda: ask("be limited always", hasty))
assert error.response.headers["retry-after"] == "0"
print("ok errors")

assert ask("be limited once").content[0].text == "Good morning."
print("ok the library's own retries")

fails(anthropic.APITimeoutError, lambda: ask("be silent", client.with_options(max_retries=0, timeout=0.5)))
print("ok time-outs")


def listen():
    with hasty.messages.stream(
        model=MODEL, max_tokens=64, messages=[{"role": "user", "content": "be cut off"}]
    ) as stream:
        for _ in stream.text_stream:
            pass


fails(Exception, listen)
print("ok broken off")

if not os.environ.get("STRAIGHT"):
    assert ask("be overloaded once", hasty).content[0].text == "Good morning."
    print("ok our retries")
    stranger = client.with_options(api_key="fwd_" + "a" * 32, max_retries=0)
    fails(anthropic.AuthenticationError, lambda: ask("say good morning", stranger))
    asserting = hasty.with_options(default_headers={"x-foreword-user": "alice"})
    fails(anthropic.PermissionDeniedError, lambda: ask("say good morning", asserting))
    print("ok refusals of ours")
