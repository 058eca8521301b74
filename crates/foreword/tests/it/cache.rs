//! `foreword cache` as a developer uses it: the reason why the cache was not read, from conversations that took place.

use std::fs;

use crate::program::Home;

/// Three messages to the offline model, each from a process of its own; its cache is gone with each of them. Before the last
/// a tool is switched off.
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
fn a_miss_is_told_with_its_turn_its_place_its_cause_and_what_to_do() {
    let home = conversation();
    let text = home.succeed(&["cache", "--conversation", "c-1"]);
    assert!(text.contains("conversation c-1:"), "{text}");
    let third = text.lines().find(|line| line.contains("turn 3:")).unwrap();
    assert!(third.contains("the prefix diverged at tool `bash`: tools: removed `bash`"), "{third}");
    assert!(third.contains("tokens written again, 0 read"), "{third}");
    assert!(third.ends_with("or change them when an epoch begins"), "{third}");
}

#[test]
fn as_json_it_has_the_rate_the_causes_and_each_miss() {
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
fn where_nothing_was_called_it_says_so_and_makes_no_database() {
    let home = Home::made_for("gateway");
    let shown = home.run(&["cache"]);
    assert!(shown.stderr.contains("no model was called in that time"), "{}", shown.stderr);
    assert!(!home.path().join(".foreword/foreword.db").exists());
    home.refused(2, &["cache", "--conversation", "not an id"]);
}

#[test]
fn whoever_is_no_owner_sees_no_conversation_but_their_own() {
    let home = conversation();
    let seen = home.json(&["--json", "cache", "--as", "nobody", "--conversation", "c-2"]);
    assert_eq!(seen["conversations"], serde_json::json!([]));
    assert_eq!(seen["calls"], 0);
}
