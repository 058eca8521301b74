//! Certainty inside and outside the documented retention, assumed rules, and tokens that were never written.

use foreword_prompt::epoch::Reason;

use super::case::{Case, case};
use super::script::{Script, prose};
use crate::cache::{Cause, Diagnosis};

fn on(model: &str) -> Script {
    Script { model: model.to_owned(), ..Script::on_openai() }
}

fn after(model: &str, seconds: u64) -> Diagnosis {
    let case: Case = case("the same prefix, missed", on(model), on(model).next());
    case.after(seconds).diagnose()
}

#[test]
fn expiry_is_certain_only_outside_the_range() {
    const HOUR: u64 = 3_600;
    let expired = |certain| Some(Cause::Expired { certain });
    for (model, seconds, cause) in [
        ("openai/gpt-4o", 240, Some(Cause::ProviderMissed)),
        ("openai/gpt-4o", 2 * HOUR, expired(false)),
        ("openai/gpt-4o", 23 * HOUR, expired(false)),
        ("openai/gpt-4o", 25 * HOUR, expired(true)),
        ("openai/gpt-5.5", 23 * HOUR, expired(false)),
        ("openai/gpt-5.6", 1_700, Some(Cause::ProviderMissed)),
        ("openai/gpt-5.6", 48 * HOUR, expired(false)),
        ("google/gemini-2.5-flash", 48 * HOUR, expired(false)),
        // DeepSeek states no lifetime at all.
        ("deepseek/deepseek-v4-flash", 60, expired(false)),
        ("deepseek/deepseek-v4-flash", 48 * HOUR, expired(false)),
    ] {
        assert_eq!(after(model, seconds).cause, cause, "{model} after {seconds} s");
    }
}

#[test]
fn assumed_retention_and_cold_prompts_give_no_certainty() {
    let marked = || Script { model: "litellm/claude-sonnet-5".to_owned(), ..Script::agent() };
    let found = case("behind a gateway", marked(), marked().next()).after(7_200).diagnose();
    assert_eq!(found.cause, Some(Cause::Expired { certain: false }));
    let edited = |model| on(model).with_in("rules", " And be brief. ");
    for (model, certain) in [("openai/gpt-5.6", false), ("openai/gpt-4o", true)] {
        let case = case("folded in", on(model), edited(model).next()).epoch(Reason::CacheCold);
        assert_eq!(case.after(90_000).diagnose().cause, Some(Cause::Expired { certain }), "{model}");
    }
}

#[test]
fn assumed_rules_are_named() {
    let assumed = |model| after(model, 7_200).assumed;
    assert!(assumed("openai/gpt-4o").is_empty());
    assert!(assumed("deepseek/deepseek-v4-flash").is_empty());
    assert_eq!(assumed("google/gemini-2.5-flash"), ["cache_retention"]);
    let behind = after("litellm/gpt-4o", 7_200);
    assert_eq!(behind.cause, Some(Cause::Expired { certain: false }));
    assert_eq!(behind.assumed, ["cache_retention", "breakpoints", "prices"]);
    let said = "whether the provider caches and charges as for `openai/gpt-4o`: it is assumed";
    assert!(behind.unknown.iter().any(|line| line == said), "{:?}", behind.unknown);
}

#[test]
fn tokens_never_written_are_not_written_again() {
    let unmarked = || {
        let mut script = Script::agent();
        script.without_breakpoints();
        script
    };
    let never = case("nothing was marked", unmarked(), unmarked().next()).diagnose();
    assert_eq!(
        (never.cause.as_ref().map(Cause::code), never.tokens_rewritten),
        (Some("no_breakpoint"), Some(0))
    );
    assert!(never.tokens_uncached.is_some_and(|tokens| tokens > 1_000), "{never:?}");
    let text = never.to_string();
    assert!(text.contains(" tokens sent uncached, 0 read; there was no cache breakpoint; $"), "{text}");
    // The first request wrote them; the second processes them as plain input.
    let lost = case("the mark is gone", Script::agent(), unmarked().next()).diagnose();
    assert_eq!(lost.tokens_uncached, None);
    let text = lost.to_string();
    assert!(text.contains(" tokens processed again, 0 read"), "{text}");
}

#[test]
fn below_minimum_wins_over_no_breakpoint() {
    let small = || {
        let mut script = Script::agent();
        script.tools.truncate(1);
        script.system.truncate(1);
        script.system[0].layers = vec![("identity".to_owned(), prose("identity", 900))];
        script.messages.drain(0..8);
        script.without_breakpoints();
        script
    };
    let seen = case("small", small(), small().next()).diagnose();
    let unseen = case("small", small(), small()).not_seen().diagnose();
    for found in [seen, unseen] {
        assert_eq!(found.cause, Some(Cause::BelowMinimum { minimum: 1_024 }), "{found:?}");
        assert!(!found.to_string().contains("again"), "{found}");
    }
}
