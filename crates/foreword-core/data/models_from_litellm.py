"""Writes models.yaml from LiteLLM's price map (MIT licence), as it stands in its PyPI wheel. See docs/models.md.

Takes facts over, never guesses: what the map does not say is left out. Ours are the tokenizer column (see
docs/tokens.md) and the cache rules below, each with its source. `assumed` lists the rules that no documentation states.
"""
import json
import os
import re
from importlib import metadata, resources

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
MAP = json.loads((resources.files("litellm") / "model_prices_and_context_window_backup.json").read_text("utf-8"))

# The cache rules of each provider, and where they are documented. As of 2026-11-17.
#
# OpenAI, prompts of models before GPT-5.6: from 1,024 tokens on, in steps of 128; kept for up to 24 hours by default, and
# with zero data retention for 5 to 10 minutes (`prompt_cache_retention` in the reference of chat completions, as in the
# PyPI package openai 3.51.0; https://developers.openai.com/api/docs/guides/prompt-caching).
# OpenAI, GPT-5.6 and later: exact match at a breakpoint, no step; at least 30 minutes on chat completions, 30 minutes or
# 12 hours on Responses; no upper limit is stated (`prompt_cache_options.ttl`, same package).
# DeepSeek: matches whole prefix units only; how long it keeps them is not stated
# (https://api-docs.deepseek.com/guides/kv_cache).
# Google: the smallest size per model (https://ai.google.dev/gemini-api/docs/caching, last updated 2026-10-13).
# Moonshot: 5 minutes by default (https://forum.moonshot.ai/t/context-caching-upgrade-5-min-1-hour-ttl-options/613).
# Google's, Mistral's and xAI's retention and every other step are assumed: their documentation does not state them.
ASSUMED = {
    "google": ["cache_retention", "cache_step"],
    "deepseek": ["cache_step"],
    "mistral": ["cache_retention", "cache_step"],
    "moonshot": ["cache_step"],
    "xai": ["cache_retention", "cache_step"],
}
GEMINI_MINIMUM = {"gemini-2.5-flash": 2048, "gemini-2.5-pro": 2048}

ANTHROPIC = """claude-opus-5-5 claude-opus-5 claude-opus-4-8 claude-opus-4-7 claude-opus-4-6 claude-opus-4-5
claude-sonnet-5-5 claude-sonnet-5 claude-sonnet-4-6 claude-sonnet-4-5 claude-haiku-5-5 claude-haiku-4-5
claude-fable-5-1 claude-fable-5 claude-mythos-5-1 claude-mythos-5""".split()
CUT_FINER_SINCE = {"claude-opus-5-5", "claude-opus-5", "claude-opus-4-8", "claude-opus-4-7", "claude-sonnet-5-5",
                   "claude-sonnet-5", "claude-haiku-5-5", "claude-fable-5-1", "claude-fable-5", "claude-mythos-5-1",
                   "claude-mythos-5"}
OPENAI = """gpt-6-astra gpt-6.1-sol gpt-6.1-terra gpt-6-sol gpt-6-luna gpt-5.6 gpt-5.6-sol gpt-5.6-terra gpt-5.6-luna gpt-5.5
gpt-5.4 gpt-5.4-mini gpt-5.3-codex gpt-5.2 gpt-5.1 gpt-5.1-codex gpt-5 gpt-5-mini gpt-5-nano gpt-4.1 gpt-4.1-mini gpt-4o
gpt-4o-mini o3 o4-mini gpt-4-turbo text-embedding-3-small""".split()
GEMINI = """gemini-4-argon gemini-3.8-flash gemini-3.7-flash gemini-3.6-flash gemini-3.5-flash-lite gemini-3.1-pro-preview
gemini-2.5-pro gemini-2.5-flash""".split()
OTHERS = ["deepseek/deepseek-flash", "deepseek/deepseek-v4-pro", "deepseek/deepseek-v4-flash", "mistral/mistral-large-4",
          "mistral/mistral-medium-3.5", "moonshot/kimi-k3", "xai/grok-4.7", "xai/grok-4.5"]


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
            counter = "cl100k_base" if name.startswith(("gpt-4-", "text-embedding-3")) else "estimate-v1"
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
              ("cache_write_1h", f"cache_creation_input_token_cost_above_1hr{suffix}"),
              ("cache_write_12h", f"cache_creation_input_token_cost_above_12hr{suffix}")]
    # A write price of 0 in the map means "nothing on top of the input price", which is what leaving it out means here.
    return [f"{ours}: {dollars(entry[theirs])}" for ours, theirs in fields
            if entry.get(theirs) is not None and (entry[theirs] > 0 or not ours.startswith("cache_write"))]


def cache_rules(provider, name, breakpoints):
    """The rules that go into a row besides `breakpoints`, as lines."""
    if breakpoints in ("none", "explicit"):
        return []
    if breakpoints == "either":
        rules = ["cache_retention: {min_seconds: 1800}", "cache_step: 1"]
    elif provider == "openai":
        rules = ["cache_retention: {min_seconds: 300, max_seconds: 86400}", "cache_step: 128"]
    elif provider == "deepseek":
        rules = ["cache_retention: {min_seconds: 0}", "cache_step: 128", "cache_match: units"]
    else:
        rules = ["cache_retention: {min_seconds: 300}", "cache_step: 128"]
    if provider in ASSUMED:
        rules.append(f"assumed: [{', '.join(ASSUMED[provider])}]")
    return rules


def retires(key):
    """The day a model is shut down; that of its last dated edition, if all of those have one."""
    if "deprecation_date" in MAP[key]:
        return MAP[key]["deprecation_date"]
    editions = [entry.get("deprecation_date") for name, entry in MAP.items() if re.fullmatch(rf"{re.escape(key)}-\d{{4}}-\d\d-\d\d", name)]
    return max(editions) if editions and all(editions) else None


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
        provider, name = id.split("/", 1)
        minimum = entry.get("prompt_cache_min_tokens") or GEMINI_MINIMUM.get(name) or (1024 if provider == "openai" else None)
        if minimum and breakpoints != "none":
            print(f"  min_cacheable: {int(minimum)}")
        print(f"  breakpoints: {breakpoints}")
        for rule in cache_rules(provider, name, breakpoints):
            print(f"  {rule}")
        print(f"  tokenizer: {counter}")
        if retires(key):
            print(f"  retires: \"{retires(key)}\"")
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
