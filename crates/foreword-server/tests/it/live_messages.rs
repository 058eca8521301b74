//! WebSocket messages and server-sent events: schemas, the log of a connection, rejected messages.

use std::collections::BTreeSet;

use foreword_store::events::{EventFilter, EventPage};
use foreword_testkit::{FakeProvider, Reply};
use serde_json::{Value, json};

use crate::live_page::Page;
use crate::proxy_observe::app_before;
use crate::test_app::TestApp;

/// Checks a message against the document: known fields only, all required ones, under the schema of its type.
fn check(document: &Value, union: &str, message: &Value) {
    let schemas = &document["components"]["schemas"];
    let kind = message["type"].as_str().unwrap();
    let name = schemas[union]["discriminator"]["mapping"][kind]
        .as_str()
        .unwrap_or_else(|| panic!("{union} has no {kind}"));
    let schema = &schemas[name.rsplit('/').next().unwrap()];
    for field in message.as_object().unwrap().keys() {
        assert!(schema["properties"].get(field).is_some(), "{name} has no `{field}`: {message}");
    }
    for field in schema["required"].as_array().unwrap() {
        assert!(message.get(field.as_str().unwrap()).is_some(), "{name} requires {field}: {message}");
    }
}

/// The data of server-sent events.
fn data(body: &str) -> Vec<Value> {
    body.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_match_the_document() {
    let app = TestApp::start().await;
    let (_, document) = app.get("/openapi.json", &app.alice).await;
    let mut page = Page::open(&app, &app.alice).await;
    let session = page.begin("!tool read_file {\"path\": \"foreword.yaml\"}").await;
    let mut seen = page.until("turn_end").await;
    for request in [
        json!({ "type": "subscribe", "sessionId": session, "after": 0, "id": "1" }),
        json!({ "type": "cancel", "sessionId": session }),
        json!({ "type": "unsubscribe", "sessionId": session }),
        json!({ "type": "ping" }),
        json!({ "type": "leave" }),
    ] {
        seen.push(page.ask(&request).await);
    }
    for message in &seen {
        check(&document, "ServerMessage", message);
    }
    let kinds: BTreeSet<&str> = seen.iter().map(|message| message["type"].as_str().unwrap()).collect();
    let expected =
        ["turn_start", "tool_call", "tool_result", "text_delta", "turn_end", "subscribed", "problem", "pong"];
    assert!(expected.iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
    let request = app.request("POST", &format!("/api/v1/conversations/{session}/messages"), &app.alice);
    let request = request.header("accept", "text/event-stream").header("content-type", "application/json");
    let body = request.body(r#"{"text":"!say Hello."}"#).send().await.unwrap().text().await.unwrap();
    let events = data(&body);
    assert_eq!(events.first().map(|event| &event["type"]), Some(&json!("accepted")));
    assert_eq!(events.last().map(|event| &event["type"]), Some(&json!("turn_end")));
    for event in &events {
        check(&document, "StreamEvent", event);
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn status_and_error_carry_a_message() {
    let limited = Reply::status(429).header("retry-after", "0");
    let fake = FakeProvider::start([limited.clone(), Reply::status(400).message("no such model")]).unwrap();
    let app = app_before(&fake, "agents: { claude: { model: anthropic/claude-x } }\n").await;
    let (status, made) =
        app.send("POST", "/api/v1/conversations", &app.alice, &json!({ "agent": "claude" })).await;
    assert_eq!(status, 201, "{made}");
    let mut page = Page::open(&app, &app.alice).await;
    page.send(&json!({ "type": "message", "sessionId": made["id"], "text": "hello" })).await;
    let seen = page.until("turn_end").await;
    let one = |kind: &str| {
        seen.iter().find(|event| event["type"] == kind).unwrap_or_else(|| panic!("no {kind}: {seen:?}"))
    };
    let message = one("status")["message"].as_str().unwrap();
    assert!(message.starts_with("Rate limited. Retrying in "), "{message}");
    assert!(one("error")["message"].as_str().is_some_and(|message| !message.is_empty()));
    assert!(seen.iter().all(|event| event["type"] == "accepted" || event["seq"].is_u64()));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_fields_are_rejected_as_over_http() {
    let app = TestApp::start().await;
    let mut page = Page::open(&app, &app.alice).await;
    for request in [
        json!({ "type": "message", "text": "hello", "session_id": "c-1" }),
        json!({ "type": "subscribe", "sessionId": "c-1", "before": 3 }),
        json!({ "type": "ping", "text": "" }),
    ] {
        let reply = page.ask(&request).await;
        assert_eq!((&reply["type"], &reply["code"]), (&json!("problem"), &json!("bad_message")), "{request}");
        assert!(reply["detail"].as_str().unwrap().contains("unknown field"), "{reply}");
    }
    let conversations = app.get("/api/v1/conversations", &app.alice).await.1;
    assert_eq!(conversations["items"], json!([]), "nothing was begun");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_and_starts_are_logged_with_their_fields() {
    let app = TestApp::start().await;
    let mut page = Page::open(&app, &app.bob).await;
    let session = page.begin("!say Hello.").await;
    page.until("turn_end").await;
    let house_url = app.url.clone();
    page.socket.close(None).await.unwrap();
    while page.heard().await.is_some() {}
    let logged = async |kind: &str| {
        let filter = EventFilter { event_type: Some(kind.parse().unwrap()), ..EventFilter::default() };
        loop {
            app.events.flush().await.unwrap();
            let events = app.store.events(&filter, &EventPage::newest(10)).await.unwrap();
            if !events.is_empty() {
                return events.into_iter().rev().map(|stored| stored.event).collect::<Vec<_>>();
            }
            tokio::task::yield_now().await;
        }
    };
    let started = logged("server_start").await.remove(0).metadata.unwrap();
    assert_eq!(format!("http://{}:{}", started["host"].as_str().unwrap(), started["port"]), house_url);
    assert_eq!(started["version"], env!("CARGO_PKG_VERSION"));
    let connected = logged("ws_connect").await;
    let [opened, joined] = connected.as_slice() else { panic!("{connected:?}") };
    let id = |event: &foreword_core::event::Event| event.metadata.as_ref().unwrap()["clientId"].clone();
    assert_eq!((opened.session_id.as_ref(), &id(opened)), (None, &id(joined)));
    assert_eq!(joined.session_id.as_ref().map(|id| id.as_str()), Some(session.as_str()));
    let left = logged("ws_disconnect").await.remove(0);
    assert_eq!((id(&left), &left.metadata.unwrap()["reason"]), (id(opened), &json!("left")));
    app.stop().await;
}
