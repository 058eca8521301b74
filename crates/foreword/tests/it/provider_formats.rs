//! A prompt as the body of a provider's request: the same bytes in the same order, cached where it pays.

use serde_json::{Value, json};

use crate::command_line::{build, number};
use crate::program::Home;

const CLAUDE: &str = "anthropic/claude-sonnet-4-5";

#[test]
fn anthropic_blocks_are_marked_at_most_four_times_and_only_above_the_models_minimum() {
    let home = Home::made_for("gateway");
    let marks = |args: &[&str]| -> Vec<bool> {
        let body = home.json(&[&["build", "--format", "anthropic"], args].concat());
        assert_eq!(body["messages"][0]["role"], "user");
        let blocks = body["system"].as_array().unwrap();
        assert!(blocks.iter().all(|block| block["type"] == "text"));
        blocks.iter().map(|block| block["cache_control"] == json!({ "type": "ephemeral" })).collect()
    };
    // The tools are sent before the system prompt, so that even the first block ends a prefix of more than 1,024 tokens.
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
fn an_anthropic_body_has_the_prompts_bytes_in_order_and_the_models_own_name() {
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
fn an_openai_body_has_the_frozen_text_first_and_a_cache_key_it_will_take() {
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
    // OpenAI refuses a request whose key is longer than 64 characters.
    assert!(key(&[]).len() <= 64, "{}", key(&[]));
    assert_eq!(key(&[]), key(&[]));
    assert_ne!(key(&["--user", "alice"]), key(&["--user", "bob"]));
}

#[test]
fn turn_context_in_the_system_prompt_is_the_last_block_and_never_marked() {
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
