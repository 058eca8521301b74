//! `foreword conversations`: compaction loses no messages.

use crate::program::Home;

/// A conversation with two answers, compacted, and one more answer.
fn compacted_conversation() -> Home {
    let home = Home::made_for("gateway");
    home.succeed(&["chat", "--conversation", "kitchen", "remember the harbour"]);
    let ran = home.run_with_input(&["chat", "--conversation", "kitchen"], b"/compact\nand the lighthouse?\n");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    home
}

#[test]
fn list_shows_tokens_and_compactions() {
    let home = compacted_conversation();
    let listed = home.succeed(&["conversations", "list"]);
    let row = listed.lines().find(|line| line.contains("kitchen")).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((words[1], words[2], words[5]), ("alice", "dm", "1"), "{listed}");
    let json = home.json(&["--json", "conversations", "list", "--user", "alice"]);
    let one = &json["conversations"][0];
    assert_eq!((&one["id"], &one["compactions"]), (&"kitchen".into(), &1.into()));
    assert!(one["tokens"].as_u64().unwrap() > 0 && one["epochs"].as_u64().unwrap() >= 2, "{one}");
    assert!(one["covered"].as_u64().unwrap() >= 2, "{one}");
    let nobody = home.json(&["--json", "conversations", "list", "--user", "bob"]);
    assert_eq!(nobody["conversations"], serde_json::json!([]));
}

#[test]
fn compacted_messages_stay_readable() {
    let home = compacted_conversation();
    let ran = home.run(&["conversations", "show", "kitchen"]);
    assert!(ran.stdout.contains("summary of earlier messages (full)"), "{}", ran.stdout);
    assert!(ran.stdout.contains("and the lighthouse?") && !ran.stdout.contains("calls memory_write"));
    assert!(ran.stderr.contains("`--all` shows them"), "{}", ran.stderr);
    let all = home.succeed(&["conversations", "show", "kitchen", "--all"]);
    let barred = |words: &str| all.lines().any(|line| line.starts_with('|') && line.contains(words));
    assert!(barred("remember the harbour") && barred("calls memory_write"), "{all}");
    assert!(all.lines().any(|line| line.starts_with("  and the lighthouse?")), "{all}");
    let json = home.json(&["--json", "conversations", "show", "kitchen", "--all"]);
    let messages = json["messages_shown"].as_array().unwrap();
    let covered: Vec<bool> = messages.iter().map(|message| message["covered"].as_bool().unwrap()).collect();
    assert!(covered[0] && !covered.last().unwrap(), "{json}");
    assert_eq!(messages[0]["author"], "alice");
    assert!(!json.to_string().contains("\"type\":\"occasion\""), "notes for ourselves are nobody's: {json}");
}

#[test]
fn conversation_is_shown_with_its_metrics() {
    let home = compacted_conversation();
    let metrics = home.json(&["--json", "conversations", "show", "kitchen"])["metrics"].clone();
    // Two messages and the summary, each with its own turn.
    assert_eq!((&metrics["turns"], &metrics["tool_calls"]), (&3.into(), &2.into()), "{metrics}");
    assert!(metrics["tokens_in"].as_u64() > Some(0) && metrics["tokens_out"].as_u64() > Some(0), "{metrics}");
    assert!(metrics["duration_ms"].is_u64() && metrics["cost_usd"].is_number(), "{metrics}");
    let ran = home.run(&["conversations", "show", "kitchen"]);
    assert!(ran.stderr.contains("3 turns, 2 tool calls, "), "{}", ran.stderr);
}

#[test]
fn message_text_can_not_control_the_terminal() {
    let home = Home::made_for("gateway");
    home.succeed(&["chat", "--conversation", "kitchen", "hello \u{1b}[31mred\u{202e}der"]);
    let shown = home.succeed(&["conversations", "show", "kitchen"]);
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown}");
}

#[test]
fn commands_without_a_store_create_none() {
    let home = Home::made_for("gateway");
    let before = home.listing();
    let ran = home.run(&["conversations", "list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.contains("Start one with `foreword chat`"), "{}", ran.stderr);
    let refused = home.refused(1, &["conversations", "show", "nowhere"]);
    assert!(refused.contains("foreword conversations list"), "{refused}");
    assert_eq!(home.listing(), before);
}
