"""Writes models.yaml from LiteLLM's price map (MIT licence), as it stands in its PyPI wheel. See docs/models.md.

Takes facts over, never guesses: what the map does not say is left out. Two things are ours: the tokenizer column (see
docs/tokens.md) and OpenAI's minimum cacheable size, from
https://developers.openai.com/api/docs/guides/prompt-caching (1,024 tokens).
"""
import json
import os
from importlib import metadata, resources

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
MAP = json.loads((resources.files("litellm") / "model_prices_and_context_window_backup.json").read_text("utf-8"))

ANTHROPIC = """claude-opus-5-5 claude-opus-5 claude-opus-4-8 claude-opus-4-7 claude-opus-4-6 claude-opus-4-5
claude-sonnet-5-5 claude-sonnet-5 claude-sonnet-4-6 claude-sonnet-4-5 claude-haiku-5-5 claude-haiku-4-5
claude-fable-5""".split()
CUT_FINER_SINCE = {"claude-opus-5-5", "claude-opus-5", "claude-opus-4-8", "claude-opus-4-7", "claude-sonnet-5-5",
                   "claude-sonnet-5", "claude-haiku-5-5", "claude-fable-5"}
OPENAI = """gpt-6-astra gpt-6.1-sol gpt-6-sol gpt-6-luna gpt-5.6 gpt-5.6-terra gpt-5.6-luna gpt-5.5 gpt-5.4 gpt-5.4-mini
gpt-5.2 gpt-5 gpt-5-mini gpt-5-nano gpt-4.1 gpt-4.1-mini gpt-4o gpt-4o-mini o3 o4-mini gpt-4-turbo""".split()
GEMINI = "gemini-4-argon gemini-3.8-flash gemini-3.5-flash-lite gemini-3.1-pro-preview gemini-2.5-pro gemini-2.5-flash".split()
OTHERS = ["deepseek/deepseek-v4-pro", "deepseek/deepseek-v4-flash", "mistral/mistral-large-4", "xai/grok-4.7"]


def rows():
    for name in ANTHROPIC:
        counter = "estimate-claude-v1" if name in CUT_FINER_SINCE else "estimate-v1"
        yield f"anthropic/{name}", name, "explicit", counter, []
    for name in OPENAI:
        both = MAP[name].get("supports_prompt_cache_breakpoint")
        # OpenAI's own tiktoken names an encoding for these and for nothing newer.
        if name.startswith(("gpt-5", "gpt-4o", "gpt-4.1", "o3", "o4")):
            counter = "o200k_base"
        else:
            counter = "cl100k_base" if name.startswith("gpt-4-") else "estimate-v1"
        caches = MAP[name].get("cache_read_input_token_cost")
        yield f"openai/{name}", name, "either" if both else "automatic" if caches else "none", counter, []
    for name in GEMINI:
        yield f"google/{name}", f"gemini/{name}", "automatic", "estimate-v1", [f"gemini/{name}"]
    for name in OTHERS:
        yield name, name, "automatic", "estimate-v1", []


def dollars(per_token):
    return f"{per_token * 1e6:.6f}".rstrip("0").rstrip(".")


def prices(entry, above=""):
    suffix = f"_above_{above}_tokens" if above else ""
    fields = [("input", f"input_cost_per_token{suffix}"), ("output", f"output_cost_per_token{suffix}"),
              ("cache_read", f"cache_read_input_token_cost{suffix}"),
              ("cache_write_5m", f"cache_creation_input_token_cost{suffix}"),
              ("cache_write_1h", f"cache_creation_input_token_cost_above_1hr{suffix}")]
    # A write price of 0 in the map means "nothing on top of the input price", which is what leaving it out means here.
    return [f"{ours}: {dollars(entry[theirs])}" for ours, theirs in fields
            if entry.get(theirs) is not None and (entry[theirs] > 0 or not ours.startswith("cache_write"))]


def main():
    print("# What models hold and cost. Prices are US dollars per million tokens.")
    print("# Written by models_from_litellm.py; see docs/models.md. To change a model for yourself, override it in")
    print("# foreword.yaml instead of editing this file.")
    source = f"LiteLLM {metadata.version('litellm')} (MIT)"
    for id, key, breakpoints, counter, aliases in rows():
        entry = MAP[key]
        print(f"- id: {id}")
        if aliases:
            print(f"  aliases: [{', '.join(aliases)}]")
        if entry.get("max_input_tokens"):
            print(f"  context_window: {int(entry['max_input_tokens'])}")
        if entry.get("max_output_tokens"):
            print(f"  max_output: {int(entry['max_output_tokens'])}")
        print("  prices:")
        for line in prices(entry):
            print(f"    {line}")
        for above in ("100k", "200k", "272k"):
            if f"input_cost_per_token_above_{above}_tokens" in entry:
                tier = ", ".join(prices(entry, above))
                print(f"    tiers: [{{above: {above[:-1]}000, {tier}}}]")
        minimum = entry.get("prompt_cache_min_tokens") or (1024 if id.startswith("openai/") else None)
        if minimum and breakpoints != "none":
            print(f"  min_cacheable: {int(minimum)}")
        print(f"  breakpoints: {breakpoints}")
        print(f"  tokenizer: {counter}")
        print(f"  source: \"{source}{'; ' + entry['source'] if 'source' in entry else ''}\"")
        print(f"  date: \"{os.environ['MEASURED_ON']}\"")
    print("- id: offline/echo")
    print("  prices: {input: 0, output: 0}")
    print("  breakpoints: none")
    print("  tokenizer: estimate-v1")
    print("  source: \"runs on this machine; nothing is billed\"")
    print(f"  date: \"{os.environ['MEASURED_ON']}\"")


if __name__ == "__main__":
    main()
