//! `foreword cache`: why cache reads missed, in real conversations.

use std::fs;

use crate::program::Home;

/// Three messages to the offline model, each in its own process, which starts with an empty cache. Before the last one
/// a tool is disabled.
fn conversation() -> Home {
    let home = Home::made_for("gateway");
    for text in ["hello", "and now?"] {
        home.succeed(&["chat", "--conversation", "c-1", text]);
    }
    let path = home.path().join("foreword.yaml");
    let config = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{config}\ntools: {{ disabled: [bash] }}\n")).unwrap();
    home.succeed(&["chat", "--conversation", "c-1", "still there?"]);
    home
}

#[test]
fn miss_shows_turn_position_cause_and_help() {
    let home = conversation();
    let text = home.succeed(&["cache", "--conversation", "c-1"]);
    assert!(text.contains("conversation c-1:"), "{text}");
    let third = text.lines().find(|line| line.contains("turn 3:")).unwrap();
    assert!(third.contains("the prefix diverged at tool `bash`: tools: removed `bash`"), "{third}");
    assert!(third.contains("tokens written again, 0 read"), "{third}");
    assert!(third.ends_with("or change them when an epoch begins"), "{third}");
}

#[test]
fn cache_json_has_rate_causes_and_misses() {
    let home = conversation();
    let report = home.json(&["--json", "cache"]);
    assert_eq!(report["calls_unreported"], 0);
    assert_eq!(report["conversations"][0]["conversation"], "c-1");
    let misses = report["conversations"][0]["misses"].as_array().unwrap();
    let last = misses.last().unwrap();
    assert_eq!((&last["cause"], &last["turn"]), (&"tools_changed".into(), &3.into()));
    assert!(last["tokens_rewritten"].as_u64() > Some(0), "{last}");
    let causes = report["causes"].as_array().unwrap();
    assert!(causes.iter().any(|sum| sum["cause"] == "tools_changed" && sum["misses"] == 1), "{causes:?}");
}

#[test]
fn cache_without_calls_creates_no_database() {
    let home = Home::made_for("gateway");
    let shown = home.run(&["cache"]);
    assert!(shown.stderr.contains("no model calls in that period"), "{}", shown.stderr);
    assert!(!home.path().join(".foreword/foreword.db").exists());
    home.refused(2, &["cache", "--conversation", "not an id"]);
}

#[test]
fn other_users_see_only_their_conversation() {
    let home = conversation();
    let seen = home.json(&["--json", "cache", "--as", "nobody", "--conversation", "c-2"]);
    assert_eq!(seen["conversations"], serde_json::json!([]));
    assert_eq!(seen["calls"], 0);
}
