//! The built-in table, lookup and overrides.

use foreword_prompt::tokens::Tokenizer;

use super::*;
use crate::models::{
    Assumed, Breakpoints, CacheMatch, Factor, KnownFactor, PriceList, PriceTier, Prices, Retention,
};
use crate::money::Rate;

fn entries(yaml: &str) -> Vec<ModelEntry> {
    serde_saphyr::from_str(yaml).unwrap()
}

#[test]
fn built_in_json_equals_the_yaml_table() {
    let table = ModelCatalog::from_yaml(include_str!("../../../data/models.yaml")).unwrap();
    assert_eq!(ModelCatalog::builtin(), table, "write data/models.json again, as in docs/models.md");
}

#[test]
fn built_in_catalog_is_valid() {
    let catalog = ModelCatalog::from_json(BUILT_IN).unwrap();
    assert!(catalog.models.len() >= 30);
    for facts in catalog.iter() {
        let id = &facts.id;
        assert!(
            facts.source.is_some() && facts.date.is_some(),
            "{id} says where and when its facts are from"
        );
        let prices = facts.prices_at(0).unwrap_or_else(|| panic!("{id} has prices"));
        let caches = facts.breakpoints != Breakpoints::None;
        assert_eq!(caches, prices.cache_read.is_some(), "{id}: a cache has a price to read from it");
        if facts.breakpoints == Breakpoints::Explicit {
            assert!(prices.cache_write_5m.is_some() && facts.min_cacheable.is_some(), "{id}");
        }
        if id.provider() != "offline" {
            assert!(facts.context_window.is_some(), "{id} has a window");
        }
    }
}

#[test]
fn automatic_caches_state_retention_and_assumptions() {
    for facts in ModelCatalog::builtin().iter() {
        let is_automatic = matches!(facts.breakpoints, Breakpoints::Automatic | Breakpoints::Either);
        assert_eq!(facts.cache_retention.is_some(), is_automatic, "{}", facts.id);
        // Only OpenAI and Anthropic document all their rules.
        let documented = matches!(facts.id.provider(), "openai" | "anthropic") || !is_automatic;
        assert_eq!(facts.assumed.is_empty(), documented, "{}", facts.id);
    }
}

#[test]
fn figures_of_the_audit_are_in_the_table() {
    let catalog = ModelCatalog::builtin();
    let input = |name| f64::from(catalog.find(name).unwrap().prices_at(0).unwrap().input);
    for (name, dollars) in [
        ("mistral/mistral-large-4", 1.36),
        ("anthropic/claude-fable-5-1", 10.0),
        ("anthropic/claude-mythos-5", 10.0),
        ("anthropic/claude-mythos-5-1", 10.0),
        ("openai/gpt-5.6-sol", 4.0),
        ("openai/gpt-6.1-terra", 1.0),
        ("openai/gpt-5.1", 1.25),
        ("openai/gpt-5.3-codex", 1.75),
        ("google/gemini-3.6-flash", 0.75),
        ("google/gemini-3.7-flash", 0.75),
        ("deepseek/deepseek-flash", 0.3),
        ("moonshot/kimi-k3", 3.0),
        ("xai/grok-4.5", 2.0),
        ("mistral/mistral-medium-3.5", 1.5),
        ("openai/text-embedding-3-small", 0.02),
    ] {
        assert_eq!(input(name), dollars, "{name}");
    }
    let retires = |name| catalog.find(name).unwrap().retires.map(|date| date.to_string());
    for (name, date) in [
        ("anthropic/claude-sonnet-4-5", "2026-11-30"),
        ("openai/o4-mini", "2026-10-23"),
        ("openai/gpt-4-turbo", "2026-10-23"),
        ("openai/gpt-5", "2026-12-11"),
        ("openai/gpt-5-mini", "2026-12-11"),
        ("openai/gpt-5-nano", "2026-12-11"),
        ("openai/o3", "2026-12-11"),
    ] {
        assert_eq!(retires(name).as_deref(), Some(date), "{name}");
    }
    assert_eq!(catalog.find("google/gemini-2.5-flash").unwrap().min_cacheable, Some(2_048));
    // A write for twelve hours costs two and a half times the input.
    let sol = catalog.find("openai/gpt-5.6").unwrap().prices_at(0).unwrap();
    assert_eq!(sol.cache_write_12h.map(f64::from), Some(2.5 * f64::from(sol.input)));
}

#[test]
fn stating_a_fact_ends_its_being_assumed() {
    let yaml = "- id: google/gemini-2.5-flash\n  cache_retention: {min_seconds: 60}\n";
    let catalog = ModelCatalog::builtin().override_with(entries(yaml)).unwrap();
    assert_eq!(catalog.find("google/gemini-2.5-flash").unwrap().assumed, [Assumed::CacheStep]);
}

#[test]
fn every_designed_provider_has_models() {
    let catalog = ModelCatalog::builtin();
    for provider in ["anthropic", "openai", "google", "offline"] {
        assert!(catalog.iter().any(|facts| facts.id.provider() == provider), "{provider}");
    }
}

#[test]
fn models_are_found_by_id_alias_or_edition() {
    let catalog = ModelCatalog::builtin();
    for (name, found) in [
        ("openai/gpt-5", Some("openai/gpt-5")),
        ("openai/gpt-5-2025-08-07", Some("openai/gpt-5")),
        ("openai/gpt-5-latest", Some("openai/gpt-5")),
        ("openai/gpt-5-mini-2025-08-07", Some("openai/gpt-5-mini")),
        ("anthropic/claude-opus-4-5-20251101", Some("anthropic/claude-opus-4-5")),
        ("anthropic/claude-opus-4-5@20251101", Some("anthropic/claude-opus-4-5")),
        ("gemini/gemini-2.5-pro", Some("google/gemini-2.5-pro")),
        ("gemini/gemini-2.5-pro-latest", Some("google/gemini-2.5-pro")),
        // Twelve times the price of gpt-5, so a wrong match would be costly.
        ("openai/gpt-5-pro", None),
        ("openai/gpt-5-20250807-mini", None),
        ("openai/gpt", None),
        ("anthropic/gpt-5", None),
        ("gpt-5", None),
        ("é12345678", None),
        ("-20251101", None),
        ("", None),
    ] {
        assert_eq!(catalog.find(name).map(|facts| facts.id.as_str()), found, "{name}");
    }
}

#[test]
fn claude_generations_have_different_counters() {
    let catalog = ModelCatalog::builtin();
    let counter = |name| catalog.find(name).map(|facts| facts.tokenizer);
    assert_eq!(counter("anthropic/claude-opus-4-6"), Some(Tokenizer::Estimate));
    assert_eq!(counter("anthropic/claude-opus-4-7"), Some(Tokenizer::EstimateClaude));
    assert_eq!(counter("openai/gpt-4o"), Some(Tokenizer::O200kBase));
    assert_eq!(counter("openai/gpt-4-turbo"), Some(Tokenizer::Cl100kBase));
}

#[test]
fn entry_overrides_only_its_own_fields() {
    let yaml = "- id: anthropic/claude-haiku-4-5\n  context_window: 50000\n";
    let builtin = ModelCatalog::builtin();
    let before = builtin.find("anthropic/claude-haiku-4-5").unwrap().clone();
    let catalog = builtin.override_with(entries(yaml)).unwrap();
    let after = catalog.find("anthropic/claude-haiku-4-5").unwrap();
    assert_eq!(*after, ModelFacts { context_window: Some(50_000), ..before });
}

const EVERY_FIELD: &str = "\
- id: anthropic/claude-haiku-4-5
  aliases: [anthropic/haiku]
  context_window: 1
  max_output: 2
  prices:
    input: 1.5
    output: 2.5
    cache_read: 3.5
    cache_write_5m: 4.5
    cache_write_1h: 5.5
    cache_write_12h: 6.5
    tiers: [{above: 9, input: 6.5, output: 7.5, cache_read: 8.5, cache_write_5m: 9.5, cache_write_1h: 10.5, cache_write_12h: 11.5}]
  min_cacheable: 3
  cache_retention: {min_seconds: 4, max_seconds: 5}
  cache_step: 6
  cache_match: units
  retires: \"2026-11-30\"
  assumed: [min_cacheable, cache_step]
  breakpoints: either
  tokenizer: estimate-claude-v1
  calibration: {factor: 1.1, source: measured, date: \"2026-11-17\"}
  source: my contract
  date: \"2026-11-18\"
";

#[test]
fn every_field_of_a_listed_model_can_be_overridden() {
    let rate = |dollars: f64| Rate::per_million(dollars).unwrap();
    let prices = |from: f64| Prices {
        input: rate(from),
        output: rate(from + 1.0),
        cache_read: Some(rate(from + 2.0)),
        cache_write_5m: Some(rate(from + 3.0)),
        cache_write_1h: Some(rate(from + 4.0)),
        cache_write_12h: Some(rate(from + 5.0)),
    };
    let expected = ModelFacts {
        id: "anthropic/claude-haiku-4-5".parse().unwrap(),
        aliases: vec!["anthropic/haiku".parse().unwrap()],
        context_window: Some(1),
        max_output: Some(2),
        prices: Some(PriceList {
            base: prices(1.5),
            tiers: vec![PriceTier { above: 9, prices: prices(6.5) }],
        }),
        min_cacheable: Some(3),
        cache_retention: Some(Retention { min_seconds: 4, max_seconds: Some(5) }),
        cache_step: Some(6),
        cache_match: CacheMatch::Units,
        retires: Some("2026-11-30".parse().unwrap()),
        assumed: vec![Assumed::MinCacheable, Assumed::CacheStep],
        assumed_from: None,
        breakpoints: Breakpoints::Either,
        tokenizer: Tokenizer::EstimateClaude,
        calibration: Some(KnownFactor {
            factor: Factor::try_from(1.1).unwrap(),
            source: Some("measured".to_owned()),
            date: Some("2026-11-17".to_owned()),
        }),
        source: Some("my contract".to_owned()),
        date: Some("2026-11-18".to_owned()),
    };
    let catalog = ModelCatalog::builtin().override_with(entries(EVERY_FIELD)).unwrap();
    assert_eq!(catalog.find("anthropic/haiku"), Some(&expected));
}

#[test]
fn calibration_applies_to_its_own_counter_only() {
    let measured = "- id: a/b\n  tokenizer: estimate-v1\n  calibration: {factor: 1.2}\n";
    let catalog = ModelCatalog::from_yaml(measured).unwrap();
    let factor = |catalog: ModelCatalog, yaml: &str| {
        let catalog = catalog.override_with(entries(yaml)).unwrap();
        catalog.find("a/b").unwrap().calibration.as_ref().map(|known| f64::from(known.factor))
    };
    assert_eq!(factor(catalog.clone(), "- id: a/b\n  context_window: 5\n"), Some(1.2));
    assert_eq!(factor(catalog.clone(), "- id: a/b\n  tokenizer: o200k_base\n"), None);
    assert_eq!(factor(catalog, "- id: a/b\n  tokenizer: estimate-claude-v1\n"), None);
}

#[test]
fn prices_are_replaced_as_a_whole() {
    let yaml = "- id: anthropic/claude-haiku-4-5\n  prices: {input: 0.5, output: 2}\n";
    let catalog = ModelCatalog::builtin().override_with(entries(yaml)).unwrap();
    let prices = catalog.find("anthropic/claude-haiku-4-5").unwrap().prices_at(0).unwrap();
    assert_eq!(f64::from(prices.input), 0.5);
    assert_eq!(prices.cache_read, None);
}

#[test]
fn new_models_have_no_price_by_default() {
    let yaml = "- id: local/quay-7b\n  aliases: [local/quay]\n  tokenizer: estimate\n";
    let catalog = ModelCatalog::builtin().override_with(entries(yaml)).unwrap();
    let facts = catalog.find("local/quay").unwrap();
    assert_eq!(facts.prices_at(0), None);
    assert_eq!(facts.breakpoints, Breakpoints::None);
}

#[test]
fn tiered_request_is_priced_by_its_tier() {
    let yaml = "- id: local/quay\n  prices:\n    input: 1\n    output: 2\n    tiers:\n    \
                - {above: 100, input: 3, output: 4}\n    - {above: 200, input: 5, output: 6}\n";
    let catalog = ModelCatalog::from_yaml(yaml).unwrap();
    let facts = catalog.find("local/quay").unwrap();
    let input = |tokens| f64::from(facts.prices_at(tokens).unwrap().input);
    assert_eq!([100, 101, 200, 201].map(input), [1.0, 3.0, 3.0, 5.0]);
}

#[test]
fn contradictions_are_rejected_with_help() {
    let price = "input: 1, output: 1";
    for (yaml, message) in [
        (
            format!(
                "- id: a/b\n  prices: {{{price}, tiers: [{{above: 9, {price}}}, {{above: 9, {price}}}]}}\n"
            ),
            "the price tiers of `a/b` are out of order: write them by rising `above`, each once",
        ),
        (
            "- id: a/b\n  tokenizer: o200k_base\n  calibration: {factor: 1.1}\n".to_owned(),
            "`a/b` is counted by `o200k_base`, which is exact: leave out `calibration`, or choose an estimate",
        ),
        (
            "- id: a/b\n  cache_retention: {min_seconds: 9, max_seconds: 8}\n".to_owned(),
            "the `cache_retention` of `a/b` is out of order: `min_seconds` is above `max_seconds`",
        ),
        ("- id: a/b\n- id: a/b\n".to_owned(), "`a/b` is listed twice: merge the two entries"),
        (
            "- id: a/b\n  aliases: [offline/echo]\n".to_owned(),
            "`offline/echo` is an alias of `a/b` and the name of another model: choose another alias",
        ),
    ] {
        let error = ModelCatalog::builtin().override_with(entries(&yaml)).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn table_errors_name_their_line() {
    for (yaml, wanted) in [
        ("- id: echo\n", "`echo` is not a valid model id"),
        ("- id: a/b\n  prices: {input: -1, output: 1}\n", "`-1` is not a valid price"),
        ("- id: a/b\n  calibration: {factor: 7}\n", "`7` is not a valid calibration"),
        ("- id: a/b\n  retires: soon\n", "`soon` is not a date"),
        ("- id: a/b\n  tokeniser: estimate\n", "tokeniser"),
        ("- id: a/b\n  tokenizer: o200k_bas\n", "did you mean `o200k_base`"),
    ] {
        let error = ModelCatalog::from_yaml(yaml).unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains("line "), "{error}");
    }
}

#[test]
fn unlisted_models_have_a_family() {
    let catalog = ModelCatalog::builtin();
    let family = |name| catalog.family(name).map(|family| family.to_string());
    assert_eq!(family("anthropic/claude-next").as_deref(), Some("anthropic/claude"));
    assert_eq!(family("gemini/gemini-2.5-pro").as_deref(), Some("google/gemini"));
    assert_eq!(family("claude"), None);
}

#[test]
fn documented_example_is_valid() {
    let manual = include_str!("../../../../../docs/models.md");
    let yaml = manual.split("```yaml\nprices:\n").nth(1).unwrap().split("```").next().unwrap();
    let catalog = ModelCatalog::builtin().override_with(entries(yaml)).unwrap();
    assert_eq!(catalog.find("anthropic/claude-haiku-4-5").unwrap().context_window, Some(100_000));
    assert_eq!(catalog.find("local/quay").unwrap().id.as_str(), "local/quay-7b");
}
