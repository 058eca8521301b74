//! A chat with a failing model: messages, retries, and continuing the conversation.

use serde_json::Value;

use crate::program::{Home, Ran};

/// A workspace without delays between retries.
fn without_retry_delay() -> Home {
    let home = Home::made_for("gateway");
    let config = std::fs::read_to_string(home.path().join("foreword.yaml")).unwrap();
    home.write(
        "foreword.yaml",
        format!("{config}\nretry: {{ max_retries: 3, base_delay_ms: 5, max_delay_ms: 20 }}\n"),
    );
    home
}

fn say(home: &Home, words: &str) -> Ran {
    home.run(&["chat", "--conversation", "c-1", words])
}

#[test]
fn busy_provider_is_retried() {
    let home = without_retry_delay();
    let ran = say(&home, "!fail 429 times=3\nwhat's Carol's birthday?");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("birthday 14 March") && !ran.stdout.contains("Retrying"), "{}", ran.stdout);
    let statuses = ran.stderr.lines().filter(|line| line.starts_with("Rate limited. Retrying in ")).count();
    assert_eq!(statuses, 3, "{}", ran.stderr);
    assert!(ran.stderr.ends_with(" lines)\n") && ran.stderr.contains("→ memory_search("), "{}", ran.stderr);
}

#[test]
fn rejected_api_key_fails_at_once_with_help() {
    let home = without_retry_delay();
    let ran = say(&home, "!fail 401");
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: not authorised: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("check the provider's key"), "{}", ran.stderr);
    assert_eq!(say(&home, "!say still usable").stdout, "still usable\n");
}

#[test]
fn busy_provider_fails_only_one_turn() {
    let home = without_retry_delay();
    let ran = say(&home, "!fail 529");
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert_eq!(ran.stderr.matches("Retrying in ").count(), 3, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("error: ") && ran.stderr.contains("send the message again"),
        "{}",
        ran.stderr
    );
    assert_eq!(say(&home, "!say back again").stdout, "back again\n");
}

#[test]
fn text_before_a_broken_stream_is_kept() {
    let home = without_retry_delay();
    let ran = say(&home, "!fail cut \"The ferry leaves \" times=1\n!say The ferry leaves at noon.");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.starts_with("The ferry leaves "), "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("The ferry leaves at noon").count(), 0, "not begun again: {}", ran.stdout);
    assert!(ran.stderr.contains("The answer broke off. Retrying in "), "{}", ran.stderr);
}

#[test]
fn truncated_answer_is_reported() {
    let home = without_retry_delay();
    let ran = say(&home, "!say short\n!stop max-tokens");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "short\n"));
    assert_eq!(ran.stderr, "The answer was cut off at the token limit.\n");
}

#[test]
fn failing_tool_is_one_line_and_the_turn_continues() {
    let home = without_retry_delay();
    let ran = say(&home, "!tool read_file {\"path\":\"nowhere.md\"}\n!unknown-tool");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let failed: Vec<&str> = ran.stderr.lines().filter(|line| line.contains(" failed: ")).collect();
    assert_eq!(failed.len(), 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("→ read_file(\"nowhere.md\") failed: "), "{}", ran.stderr);
    assert!(ran.stderr.lines().all(|line| line.chars().count() <= 100), "{}", ran.stderr);
}

#[test]
fn sensitive_call_is_refused_without_a_terminal() {
    let home = without_retry_delay();
    let twice = "!tool bash {\"command\":\"echo first\"}\n!then\n!tool bash {\"command\":\"touch made\"}";
    let ran = say(&home, twice);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("bash was refused: this turn has read output of the tool `bash`"),
        "{}",
        ran.stderr
    );
    assert!(!home.path().join("made").exists());
}

#[test]
fn failures_are_json_lines() {
    let home = without_retry_delay();
    let ran = home.run(&["--json", "chat", "!fail 429 times=1\n!fail 401"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    let lines: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["turn_start", "status", "error", "turn_end"]);
    assert!(lines[1]["message"].as_str().unwrap().starts_with("Rate limited. Retrying in "));
    assert!(lines[2]["message"].as_str().unwrap().contains("check the provider's key"));
    assert_eq!((&lines[3]["outcome"], &lines[3]["error"]), (&"failed".into(), &lines[2]["message"]));
}
