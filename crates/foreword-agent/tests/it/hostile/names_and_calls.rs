//! Hostile user names, and hostile tool names and arguments from the model.

use std::sync::Arc;

use foreword_agent::conversation::inbound::TurnOrigin;
use foreword_core::turn_journal::Outcome;
use foreword_testkit::Reply;
use foreword_workspace::speaker::Speaker;
use serde_json::json;

use super::audit::{Results, Sent, assert_in_place};
use super::corpus::{names, texts};
use super::stage::turn;
use crate::fixture::{Fixture, alice, in_group, on};

const SAID: &str = "What is there?";

#[tokio::test]
async fn untrusted_name_stays_on_its_line() {
    let fixture = Fixture::new(Reply::text("Well.")).await;
    for hostile in names('a').into_iter().filter(|hostile| !hostile.text.contains('\0')) {
        let channel = format!("irc:{}", hostile.text);
        let called = TurnOrigin {
            speaker: Speaker { user: Some(Arc::from(&*hostile.text)), ..in_group(&channel).speaker.clone() },
            ..in_group(&channel)
        };
        let placed = TurnOrigin {
            speaker: Speaker {
                situation: Some(Arc::from(&*hostile.text)),
                ..on(&hostile.text).speaker.clone()
            },
            ..on(&hostile.text)
        };
        for (way, occasion) in [on(&channel), in_group(&channel), called, placed].into_iter().enumerate() {
            let conversation = format!("c-{way}-{}", hostile.canary);
            let (seen, _) = turn(&fixture, &conversation, occasion, "Hello.", vec![]).await;
            assert_eq!(seen.ending(), (Outcome::Done, None), "{}", hostile.name);
            assert!(
                Sent::of(&fixture.provider.requests().pop().unwrap()).frozen[0] == "null",
                "a stranger has no tools"
            );
            turn(&fixture, &conversation, alice(), SAID, vec![]).await;
        }
    }
    assert!(fixture.provider.requests().iter().any(|request| Sent::of(request).tells("quokka")));
    assert_in_place(&fixture.provider.requests(), &[SAID], Results::Framed);
}

#[tokio::test]
async fn model_arguments_are_escaped_in_results() {
    let fixture = Fixture::new(Reply::text("Well.")).await;
    let mut tools = 0;
    for hostile in texts('a').into_iter().chain(names('b')) {
        // Longer ones only take longer.
        let text: String = hostile.text.chars().take(2_000).collect();
        fixture.provider.push(odd_calls(&text));
        fixture.provider.push(calls_that_fit(&text));
        let conversation = format!("c-{}", hostile.canary);
        let seen = fixture.say(&conversation, alice(), SAID).await;
        assert_eq!(seen.ending(), (Outcome::Done, None), "{}", hostile.name);
        tools += seen.results().len();
        fixture.say(&conversation, alice(), SAID).await;
    }
    assert!(tools > 500, "{tools}");
    assert_in_place(&fixture.provider.requests(), &[SAID], Results::Framed);
}

/// Calls that no tool takes.
fn odd_calls(text: &str) -> Reply {
    Reply::tool_call(text, json!({ "path": text }))
        .and_tool_call("memory_get", json!({ "path": text, text: text }))
        .and_tool_call("memory_get", json!({ "path": text, "from": text }))
        .and_tool_call("memory_write", json!({ "store": text, "title": text, "text": text }))
        .and_raw_tool_call("memory_search", text)
}

/// Calls of every tool that takes words, all of them odd.
fn calls_that_fit(text: &str) -> Reply {
    let layer = json!({ "layer_id": text, "content": text, "expected_version": 0 });
    Reply::tool_call("memory_search", json!({ "query": text }))
        .and_tool_call("skill_get", json!({ "name": text }))
        .and_tool_call("foreword_trace", json!({ "turn": text }))
        .and_tool_call("foreword_logs", json!({ "session_id": text, "user": text }))
        .and_tool_call("foreword_logs", json!({ "since": text }))
        .and_tool_call("foreword_logs", json!({ "event_type": text }))
        .and_tool_call("read_file", json!({ "path": text }))
        .and_tool_call("write_file", json!({ "path": "foreword.yaml", "text": text }))
        .and_tool_call("update_prompt_layer", layer)
}
