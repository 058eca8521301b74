//! The program's reports about itself: turns by message id, tokens and costs by conversation, readable text.

use serde_json::Value;

use crate::priced_workspace::{answer, home};
use crate::program::Home;
use foreword_testkit::FakeProvider;

/// The lines of `--json chat`.
fn chat_lines(home: &Home, args: &[&str]) -> Vec<Value> {
    let text = home.succeed(&[&["--json", "chat"], args].concat());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn trace_takes_the_id_of_a_message() {
    let home = Home::made_for("gateway");
    home.succeed(&["chat", "--conversation", "c-1", "hello"]);
    let events = home.succeed(&["--json", "logs", "--type", "message_received"]);
    let event: Value = serde_json::from_str(events.lines().next().unwrap()).unwrap();
    let message = event["metadata"]["message"].as_str().unwrap();
    let by_message = home.json(&["--json", "trace", message]);
    let newest = home.json(&["--json", "trace", "last"]);
    assert_eq!(by_message["turn"], newest["turn"]);
    let asked = format!("!tool foreword_trace {{\"turn\":\"{message}\"}}");
    let output = home.succeed(&["chat", "--conversation", "c-2", &asked]);
    assert!(output.contains(newest["turn"].as_str().unwrap()), "{output}");
}

#[test]
fn costs_by_conversation_and_per_turn_are_reported() {
    let provider =
        FakeProvider::start([answer("one", 1_000, 10), answer("two", 5_000, 10), answer("three", 3_000, 10)])
            .unwrap();
    let priced = home(&provider, "");
    for (conversation, words) in [("c-1", "a"), ("c-2", "b"), ("c-1", "c")] {
        priced.succeed(&["chat", "--conversation", conversation, words]);
    }
    let with_tool = ["chat", "--conversation", "c-3", "--model", "offline/echo"];
    let asked = "which conversation used the most tokens?";
    let report = priced.succeed(&[&with_tool[..], &[asked]].concat());
    assert!(report.contains("most tokens: conversation `c-2`, 5,010"), "{report}");
    // 1,000 dollars per million input tokens, ten times that for output: 9,000 in and 30 out, in three turns.
    assert!(report.contains("per turn on average"), "{report}");
    let by_model = "!tool foreword_cost {\"by\":\"model\"}";
    let lines = chat_lines(&priced, &[&with_tool[1..], &[by_model]].concat());
    let report = lines.iter().find(|line| line["type"] == "tool_result").unwrap()["content"].to_string();
    assert!(
        report.contains("harbour/quay-7b: 9,000 tokens in, 30 out, 3 calls in 3 turns, cost $9.3000"),
        "{report}"
    );
    assert!(report.contains("$3.1000 per turn on average"), "{report}");
    let refused = priced.succeed(&[&with_tool[..], &["--user", "bob", asked]].concat());
    assert!(refused.contains("not among the tools"), "{refused}");
}

#[test]
fn no_output_escapes_ordinary_punctuation() {
    let home = Home::made_for("gateway");
    home.succeed(&["chat", "--conversation", "c-1", "hello"]);
    // The epochs that this starts have reasons with backticks.
    home.succeed(&["chat", "--conversation", "c-1", "--user", "bob", "--situation", "group", "hello"]);
    home.succeed(&["chat", "--conversation", "c-1", "hello [again] `twice` <b>"]);
    let last = home.json(&["--json", "trace", "last"]);
    let trace = format!("!tool foreword_trace {{\"turn\":{}}}", last["turn"]);
    for asked in
        ["!tool foreword_logs", trace.as_str(), "!tool [odd] {}", "!tool `odd` {}", "!tool foreword_status"]
    {
        let ran = home.run(&["chat", asked]);
        assert!(!ran.stdout.contains("\\u{") && !ran.stderr.contains("\\u{"), "{}{}", ran.stdout, ran.stderr);
    }
    for command in
        [&["logs"][..], &["trace", "last"], &["status"], &["cache"], &["conversations", "show", "c-1"]]
    {
        let text = home.succeed(command);
        assert!(!text.contains("\\u{"), "{text}");
    }
    assert!(chat_lines(&home, &["hello"]).iter().all(|line| !line.to_string().contains("u{60}")));
}
