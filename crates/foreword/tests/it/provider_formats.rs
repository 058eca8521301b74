//! A prompt as the body of a provider's request: the same bytes in the same order, with cache breakpoints.

use serde_json::{Value, json};

use crate::command_line::{build, number};
use crate::program::Home;

const CLAUDE: &str = "anthropic/claude-sonnet-4-5";

#[test]
fn anthropic_breakpoints_respect_count_and_minimum() {
    let home = Home::made_for("gateway");
    let marks = |args: &[&str]| -> Vec<bool> {
        let body = home.json(&[&["build", "--format", "anthropic"], args].concat());
        assert_eq!(body["messages"][0]["role"], "user");
        let blocks = body["system"].as_array().unwrap();
        assert!(blocks.iter().all(|block| block["type"] == "text"));
        blocks.iter().map(|block| block["cache_control"] == json!({ "type": "ephemeral" })).collect()
    };
    // Tools are sent before the system prompt, so that even the first block ends a prefix of more than 1,024 tokens.
    assert_eq!(marks(&["--model", CLAUDE]), [true, true, true]);
    let prefixes: Vec<usize> = home.json(&["--json", "explain", "--model", CLAUDE])["breakpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| number(&point["tokens"]))
        .collect();
    assert!(prefixes.len() == 2 && prefixes.iter().all(|tokens| *tokens >= 1_024), "{prefixes:?}");
    assert_eq!(marks(&["--model", CLAUDE, "--user", "mallory"]), [false], "nothing is large enough to cache");
}

#[test]
fn anthropic_body_has_prompt_bytes_and_model_name() {
    let home = Home::made_for("gateway");
    let body = home.json(&["build", "--format", "anthropic", "--model", CLAUDE, "--user", "bob"]);
    let report = build(&home, &["--model", CLAUDE, "--user", "bob"]);
    assert_eq!(body["model"], "claude-sonnet-4-5");
    let texts = |blocks: &Value| -> Vec<Value> {
        blocks.as_array().unwrap().iter().map(|block| block["text"].clone()).collect()
    };
    assert_eq!(texts(&body["system"]), texts(&report["system"]));
    assert!(body["messages"][0]["content"][0]["text"].as_str().unwrap().starts_with("<turn-context>\n"));
}

#[test]
fn openai_body_starts_frozen_and_has_valid_cache_key() {
    let home = Home::made_for("gateway");
    let body = home.json(&["build", "--format", "openai", "--model", "openai/gpt-4o"]);
    let report = build(&home, &["--model", "openai/gpt-4o"]);
    assert_eq!(body["model"], "gpt-4o");
    assert_eq!(body["messages"][0]["role"], "system");
    let frozen: String =
        report["system"].as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap()).collect();
    assert_eq!(body["messages"][0]["content"], frozen);
    assert_eq!(body["messages"][1]["role"], "user");
    let key = |args: &[&str]| {
        let body = home.json(&[&["build", "--format", "openai"], args].concat());
        body["prompt_cache_key"].as_str().unwrap().to_owned()
    };
    // OpenAI rejects a request whose key is longer than 64 characters.
    assert!(key(&[]).len() <= 64, "{}", key(&[]));
    assert_eq!(key(&[]), key(&[]));
    assert_ne!(key(&["--user", "alice"]), key(&["--user", "bob"]));
}

#[test]
fn turn_context_block_is_last_and_not_cached() {
    let home = Home::made_for("gateway");
    let config = std::fs::read_to_string(home.path().join("foreword.yaml")).unwrap();
    home.write("foreword.yaml", config.replace("turn_context: message", "turn_context: system"));
    let body = home.json(&["build", "--format", "anthropic", "--model", CLAUDE]);
    let last = body["system"].as_array().unwrap().last().unwrap();
    assert!(last["text"].as_str().unwrap().contains("- Time: "), "{last}");
    assert_eq!((last.get("cache_control"), body.get("messages")), (None, None));
    let report = build(&home, &[]);
    assert_eq!(report["system"].as_array().unwrap().last().unwrap()["cache"], "none");
}
