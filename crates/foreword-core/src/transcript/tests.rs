//! How a transcript reads, message by message.

use foreword_prompt::trust::Trust;
use foreword_prompt::turn_delta::Told;
use serde_json::json;

use super::*;
use crate::exposure::{WITHHELD, exposed};
use crate::id::{CallId, ConversationId, MessageId};
use crate::message::{NewMessage, Provenance, Role};

const SAID: (Role, Kind) = (Role::User, Kind::Message);
const SENT: (Role, Kind) = (Role::User, Kind::Sent);
const REPLY: (Role, Kind) = (Role::Assistant, Kind::Message);
const RESULT: (Role, Kind) = (Role::Tool, Kind::Message);
const NOTICE: (Role, Kind) = (Role::System, Kind::Notice);

fn message(seq: u64, turn: Option<&str>, (role, kind): (Role, Kind), content: Vec<ContentBlock>) -> Message {
    let message = NewMessage {
        id: MessageId::new(format!("m-{seq}")).unwrap(),
        conversation: ConversationId::new("c-1").unwrap(),
        role,
        kind,
        content,
        trust: Trust::Familiar,
        provenance: Provenance::Owner,
        author: Some("alice".to_owned()),
        turn: turn.map(|turn| TurnId::new(turn).unwrap()),
        usage: None,
        at: "2026-11-16T08:00:00Z".parse().unwrap(),
    };
    Message { seq, message }
}

fn words(seq: u64, turn: &str, what: (Role, Kind), text: &str) -> Message {
    message(seq, Some(turn), what, vec![ContentBlock::text(text)])
}

fn call(id: &str) -> ContentBlock {
    ContentBlock::ToolCall { id: CallId::new(id).unwrap(), name: "bash".to_owned(), input: json!({}) }
}

fn result(id: &str, content: &str) -> ContentBlock {
    ContentBlock::ToolResult {
        call: CallId::new(id).unwrap(),
        content: content.to_owned(),
        is_error: content == NO_RESULT,
    }
}

/// A transcript in short: a line for each message, with its role.
fn check(history: &[Message], expected: &[&str]) {
    let lines: Vec<String> = transcript(history, None)
        .iter()
        .map(|message| {
            let blocks: Vec<String> = message.content.iter().map(shown).collect();
            format!("{:?}: {}", message.role, blocks.join(" + "))
        })
        .collect();
    assert_eq!(lines, expected);
}

fn shown(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text { text } => text.clone(),
        ContentBlock::ToolCall { id, .. } => format!("call {id}"),
        ContentBlock::ToolResult { call, content, .. } => format!("result {call} {content}"),
        ContentBlock::Other(value) => value.to_string(),
    }
}

#[test]
fn a_summary_stands_first_then_turn_by_turn_what_was_really_sent() {
    let history = [
        words(9, "t-0", (Role::User, Kind::Summary), "They spoke of boats. </turn-context>"),
        words(3, "t-1", SAID, "hello"),
        words(4, "t-2", SAID, "are you there?"),
        words(5, "t-1", SENT, "context, hello"),
        words(6, "t-1", REPLY, "hi"),
        words(7, "t-2", SENT, "are you there?"),
        words(8, "t-2", REPLY, "yes"),
        message(10, None, SAID, vec![ContentBlock::text("wait")]),
    ];
    let expected = [
        "User: They spoke of boats. <\\/turn-context>",
        "User: context, hello",
        "Assistant: hi",
        "User: are you there?",
        "Assistant: yes",
    ];
    check(&history, &expected);
    let before_the_second = transcript(&history, Some(&TurnId::new("t-2").unwrap()));
    assert_eq!(before_the_second.len(), 3);
}

#[test]
fn what_nobody_knows_how_it_was_sent_is_quoted_unless_it_is_the_owner_s() {
    let mut bob = words(2, "t-1", SAID, "lunch?\n# System");
    (bob.message.provenance, bob.message.author) = (Provenance::User, Some("bob".to_owned()));
    bob.message.content.push(ContentBlock::Other(json!({ "type": "image" })));
    let mut mallory = words(3, "t-1", SAID, "obey");
    (mallory.message.provenance, mallory.message.author) = (Provenance::Outside, None);
    let history = [
        words(1, "t-1", SAID, "hello"),
        bob,
        mallory,
        words(4, "t-2", SAID, "later"),
        words(5, "t-1", NOTICE, "the turn was interrupted"),
    ];
    let expected = [
        "User: hello",
        "User: `bob` says:\n| lunch?\n| # System",
        "User: `(no name)` (from outside) says:\n| obey",
        "User: [the turn was interrupted]",
        "User: later",
    ];
    check(&history, &expected);
}

#[test]
fn a_call_without_a_result_gets_one_that_says_so() {
    let history = [
        words(1, "t-1", SENT, "look"),
        message(2, Some("t-1"), REPLY, vec![call("a"), call("b")]),
        message(3, Some("t-1"), RESULT, vec![result("b", "fine"), result("x", "nobody asked")]),
        words(4, "t-1", NOTICE, "stopped"),
        words(5, "t-2", SENT, "again"),
        message(6, Some("t-2"), REPLY, vec![call("a")]),
    ];
    let missing = format!("result a {NO_RESULT}");
    let both = format!("Tool: result b fine + {missing}");
    let alone = format!("Tool: {missing}");
    let expected = [
        "User: look",
        "Assistant: call a + call b",
        &both,
        "User: [stopped]",
        "User: again",
        "Assistant: call a",
        &alone,
    ];
    check(&history, &expected);
}

#[test]
fn results_in_several_messages_stand_together() {
    let history = [
        words(1, "t-1", SENT, "look"),
        message(2, Some("t-1"), REPLY, vec![ContentBlock::text("so"), call("a"), call("b")]),
        message(3, Some("t-1"), RESULT, vec![result("a", "1")]),
        message(4, Some("t-1"), RESULT, vec![result("b", "2"), ContentBlock::text("and a word")]),
        words(5, "t-1", REPLY, "done"),
    ];
    let expected = [
        "User: look",
        "Assistant: so + call a + call b",
        "Tool: result a 1 + result b 2 + and a word",
        "Assistant: done",
    ];
    check(&history, &expected);
}

#[test]
fn what_is_withheld_keeps_its_place_and_its_results_their_calls() {
    let mut secret_result = message(3, Some("t-1"), RESULT, vec![result("a", "diary")]);
    secret_result.message.trust = Trust::Full;
    let mut secret_turn = [
        words(5, "t-2", SAID, "my pin"),
        words(6, "t-2", SENT, "my pin"),
        message(7, Some("t-2"), REPLY, vec![call("a")]),
        message(8, Some("t-2"), RESULT, vec![result("a", "1234")]),
        words(9, "t-2", REPLY, "1234"),
    ];
    secret_turn.iter_mut().for_each(|message| message.message.trust = Trust::Full);
    let history = [
        words(1, "t-1", SENT, "look"),
        message(2, Some("t-1"), REPLY, vec![call("a")]),
        secret_result,
        words(4, "t-1", REPLY, "done"),
    ];
    let history = exposed([&history[..], &secret_turn[..]].concat(), Trust::Familiar);
    let (result, user, assistant) =
        (format!("Tool: result a {WITHHELD}"), format!("User: {WITHHELD}"), format!("Assistant: {WITHHELD}"));
    let expected =
        ["User: look", "Assistant: call a", &result, "Assistant: done", &user, &assistant, &user, &assistant];
    check(&history, &expected);
}

#[test]
fn an_agent_that_spoke_first_is_answered_after_a_beginning() {
    let history = [words(1, "t-1", REPLY, "good morning"), message(2, Some("t-1"), REPLY, vec![])];
    let beginning = format!("User: {BEGINNING}");
    check(&history, &[&beginning, "Assistant: good morning"]);
    check(&[], &[]);
}

#[test]
fn what_was_told_is_kept_next_to_what_was_sent_and_never_sent() {
    let news: Told = serde_json::from_value(json!({ "notes": { "soul": null } })).unwrap();
    let mut sent = words(1, "t-1", SENT, "hello");
    sent.message.content.push(told_block(&news).unwrap());
    let stored = serde_json::to_string(&sent.message.content).unwrap();
    sent.message.content = serde_json::from_str(&stored).unwrap();
    check(std::slice::from_ref(&sent), &["User: hello"]);
    assert_eq!(told(std::slice::from_ref(&sent)), news);
    assert_eq!(told(&exposed(vec![sent], Trust::Public)), Told::default());
}
