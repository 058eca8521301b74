//! Checks all serialised messages against their schemas.

use std::collections::{BTreeMap, BTreeSet};

use foreword_core::id::ConversationId;
use foreword_core::message::Usage;
use foreword_core::money::Price;
use foreword_prompt::trust::Trust;
use serde_json::Value;

use super::super::reply::Reply;
use super::super::request::ClientMessage;
use super::super::stream_event::{StreamEvent, TurnOutcome};
use super::super::wire_event::Heading;
use super::schemas;
use crate::problem::Problem;

/// The schemas by name.
fn described() -> BTreeMap<String, Value> {
    schemas().into_iter().map(|(name, schema)| (name, serde_json::to_value(schema).unwrap())).collect()
}

/// Checks messages against a union. Returns the types that no message has.
fn unseen(union: &str, messages: &[Value]) -> BTreeSet<String> {
    let schemas = described();
    let mapping = schemas[union]["discriminator"]["mapping"].as_object().unwrap().clone();
    assert_eq!(mapping.len(), schemas[union]["oneOf"].as_array().unwrap().len(), "a type is there twice");
    let mut unseen: BTreeSet<String> = mapping.keys().cloned().collect();
    for message in messages {
        let kind = message["type"].as_str().unwrap();
        let name = mapping[kind].as_str().unwrap().rsplit('/').next().unwrap();
        let schema = &schemas[name];
        assert_eq!(schema["properties"]["type"]["enum"], serde_json::json!([kind]));
        let fields = message.as_object().unwrap();
        for field in fields.keys() {
            assert!(schema["properties"].get(field).is_some(), "`{field}` of {name} is not in the document");
        }
        for field in schema["required"].as_array().unwrap() {
            assert!(fields.contains_key(field.as_str().unwrap()), "{name} has no {field}: {message}");
        }
        unseen.remove(kind);
    }
    unseen
}

/// Each event with all optional fields, and with none.
fn events() -> Vec<StreamEvent> {
    let turn = || "t-1".parse().unwrap();
    let (call, tool, arguments) = ("call-1".parse().unwrap(), "bash", serde_json::json!({ "command": "ls" }));
    let mut all = Vec::new();
    for full in [true, false] {
        let turn_id = full.then(turn);
        let id = || foreword_core::id::CallId::clone(&call);
        let (tool, arguments) = (tool.to_owned(), arguments.clone());
        all.extend([
            StreamEvent::TurnStart {
                turn_id: turn(),
                messages: Vec::new(),
                user: full.then(|| "alice".into()),
                resumed: full,
            },
            StreamEvent::TextDelta { turn_id: turn_id.clone(), text: "Hello.".to_owned() },
            StreamEvent::ToolCall {
                turn_id: turn_id.clone(),
                call_id: id(),
                tool: tool.clone(),
                arguments: arguments.clone(),
                truncated: full,
            },
            StreamEvent::ToolResult {
                turn_id: turn_id.clone(),
                call_id: id(),
                tool: tool.clone(),
                content: String::new(),
                is_error: full,
                truncated: full,
            },
            StreamEvent::Status {
                turn_id: turn_id.clone(),
                message: "Rate limited. Retrying in 3s...".to_owned(),
            },
            StreamEvent::Question {
                turn_id: turn_id.clone(),
                call_id: id(),
                tool,
                arguments,
                because: String::new(),
            },
            StreamEvent::Error {
                turn_id: turn_id.clone(),
                kind: "transient".to_owned(),
                message: String::new(),
            },
            StreamEvent::TurnEnd {
                turn_id: turn(),
                outcome: TurnOutcome::Done,
                usage: Usage::default().into(),
                cost: Price::Unknown,
                incomplete: full,
            },
            StreamEvent::SessionCompacted { turn_id },
        ]);
    }
    all
}

fn replies() -> Vec<Reply> {
    let session = || ConversationId::new("c-1").unwrap();
    vec![
        Reply::Accepted { session_id: session(), message_id: "m-1".parse().unwrap(), before: false },
        Reply::Subscribed { session_id: session(), after: 0, last: 3 },
        Reply::Unsubscribed { session_id: session() },
        Reply::Cancelling { session_id: session() },
        Reply::Answered { session_id: session() },
        Reply::Updated { session_id: session() },
        Reply::WaitingForApproval {
            session_id: session(),
            turn_id: "t-1".parse().unwrap(),
            outcome: "waiting_for_approval",
            question: "call-1".to_owned(),
        },
        Reply::Pong,
        Reply::Status { session_id: None, message: String::new() },
        Reply::Status { session_id: Some(session()), message: String::new() },
        Problem::bad_request("bad_message", "unknown field").help("leave it out").into(),
    ]
}

#[test]
fn server_messages_match_the_document() {
    let heading = Heading::of(&ConversationId::new("c-1").unwrap());
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let mut wire = Vec::new();
    for event in events() {
        let item = serde_json::to_string(&event).unwrap();
        wire.push(read(&heading.encode(7, Trust::Full, &item).text));
        if matches!(event, StreamEvent::TurnEnd { .. }) {
            wire.push(read(&heading.encode_unnumbered(&item)));
        }
    }
    let replies_in_streams = ["accepted", "missed", "waiting_for_approval"].map(str::to_owned);
    assert_eq!(unseen("StreamEvent", &wire), BTreeSet::from(replies_in_streams));
    for reply in replies() {
        wire.push(read(&reply.to_wire(None)));
        wire.push(read(&reply.to_wire(Some("1"))));
    }
    wire.retain(|message| message["type"] != "status" || message["inReplyTo"].is_null());
    assert_eq!(unseen("ServerMessage", &wire), BTreeSet::from(["missed".to_owned()]));
}

#[test]
fn requests_of_the_document_are_read() {
    let schemas = described();
    for reference in schemas["ClientMessage"]["oneOf"].as_array().unwrap() {
        let name = reference["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
        let schema = &schemas[name];
        let value = |(field, schema): (&String, &Value)| {
            let value = match (field.as_str(), schema["enum"][0].as_str()) {
                (_, Some(word)) => word.into(),
                ("answer", _) => "once".into(),
                ("after", _) => 3.into(),
                ("context", _) => serde_json::json!({}),
                _ => "x".into(),
            };
            (field.clone(), value)
        };
        let mut message: serde_json::Map<String, Value> =
            schema["properties"].as_object().unwrap().iter().map(value).collect();
        assert!(
            ClientMessage::read(&Value::Object(message.clone()).to_string()).is_ok(),
            "{name}: {message:?}"
        );
        assert_eq!(schema["additionalProperties"], false);
        let required = schema["required"].as_array().unwrap();
        message.retain(|field, _| required.contains(&Value::from(field.clone())));
        assert!(
            ClientMessage::read(&Value::Object(message.clone()).to_string()).is_ok(),
            "{name}: {message:?}"
        );
    }
}
