//! The manual of `foreword.yaml`: its examples are valid, and it lists every key and provider.

use std::collections::BTreeSet;

use foreword_core::provider::{KeySource, WireDialect, builtin_providers};
use foreword_workspace::config::Config;
use foreword_workspace::config::raw::RawConfig;
use serde_json::Value;

const MANUAL: &str = include_str!("../../../../docs/configuration.md");

#[test]
fn every_manual_example_is_valid() {
    let examples: Vec<&str> =
        MANUAL.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(examples.len() >= 8);
    for example in examples {
        if let Err(problems) = Config::parse("foreword.yaml", example) {
            panic!("{example}\n{}", problems[0]);
        }
    }
}

#[test]
fn manual_tables_list_every_key() {
    let schema = schemars::schema_for!(RawConfig);
    let defined = |name: &str| schema.get("$defs").and_then(|all| all.get(name)).unwrap();
    let keys = |name: &str| -> Vec<String> {
        defined(name)["properties"].as_object().unwrap().keys().cloned().collect()
    };
    for (definition, prefix) in [
        ("RawLimits", "limits."),
        ("RawTools", ""),
        ("RawBash", "bash."),
        ("RawProvider", ""),
        ("RawTimeouts", "timeouts."),
        ("RawRetry", ""),
        ("RawRequeue", "requeue."),
        ("RawCache", "cache."),
        ("RawServer", ""),
        ("RawServerLimits", "limits."),
        ("RawProxy", ""),
    ] {
        for key in keys(definition) {
            let parts = ["limits", "bash", "timeouts", "requeue", "cache", "tls"];
            let row = format!("| `{prefix}{key}` | ");
            assert!(MANUAL.contains(&row) || parts.contains(&key.as_str()), "{definition}: no row `{row}`");
        }
    }
}

#[test]
fn manual_lists_the_built_in_providers() {
    let section = MANUAL.split("## `providers`").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut rows = BTreeSet::new();
    for row in section.lines().filter(|line| line.contains("://") && line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let plain = |cell: &str| cell.trim_matches('`').to_owned();
        for name in cells[0].split(", ") {
            rows.insert((plain(name), plain(cells[1]), plain(cells[2]), plain(cells[3])));
        }
    }
    let word = |dialect: WireDialect| match serde_json::to_value(dialect) {
        Ok(Value::String(word)) => word,
        other => panic!("{other:?}"),
    };
    let key = |key: KeySource| match key {
        KeySource::Environment(name) => name,
        KeySource::None => "none".to_owned(),
        KeySource::Written(_) => panic!("a key in the table"),
    };
    let built_in = builtin_providers().into_values().map(|provider| {
        (provider.name.to_string(), word(provider.dialect), provider.base_url, key(provider.key))
    });
    assert_eq!(rows, built_in.collect());
}
