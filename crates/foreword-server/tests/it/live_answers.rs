//! Streams that wait for the answer to a message: they show what the reader may see, and always end.

use std::time::Duration;

use foreword_core::api_token::{Scope, TokenLimits};
use foreword_core::timestamp::Timestamp;
use foreword_server::auth::credential::Credential;
use foreword_store::tokens::NewToken;
use foreword_testkit::eventually;
use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::test_app::TestApp;

async fn begun(app: &TestApp, token: &str) -> String {
    let (status, made) = app.send("POST", "/api/v1/conversations", token, &json!({})).await;
    assert_eq!(status, 201, "{made}");
    format!("/api/v1/conversations/{}", made["id"].as_str().unwrap())
}

/// Posts a message with its text as the key, and streams the events.
fn streamed(app: &TestApp, place: &str, token: &str, text: &str) -> RequestBuilder {
    app.request("POST", &format!("{place}/messages"), token)
        .header("accept", "text/event-stream")
        .header("content-type", "application/json")
        .header("idempotency-key", text.replace('\n', " "))
        .body(json!({ "text": text }).to_string())
}

async fn all(request: RequestBuilder) -> String {
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.text().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn asserted_user_limits_what_a_stream_shows() {
    let app = TestApp::start().await;
    let place = begun(&app, &app.bob).await;
    let said = json!({ "text": "!say For the owner alone." });
    assert_eq!(app.send("POST", &format!("{place}/messages"), &app.alice, &said).await.0, 200);
    let bridge = app.token("alice", &[Scope::Chat, Scope::Assert], None).await;
    let for_bob = || streamed(&app, &place, &bridge, "!say For bob.").header("x-foreword-user", "bob");
    assert!(all(for_bob()).await.contains("event: turn_end"));
    // Posted again, the stored events of its turn are streamed.
    let again = all(for_bob()).await;
    assert!(again.contains("event: turn_end") && !again.contains("owner alone"), "{again}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_begins_with_its_message_and_repeats_no_other_turn() {
    let app = TestApp::start().await;
    let place = begun(&app, &app.bob).await;
    // A response without a stream may arrive before the turn's last events, which would be in the next stream.
    let say = async |text: &str| {
        assert!(all(streamed(&app, &place, &app.bob, text)).await.contains("event: turn_end"));
    };
    say("!say Before.").await;
    let ours = || streamed(&app, &place, &app.bob, "!say Ours.");
    let first = all(ours()).await;
    say("!say After.").await;
    let again = all(ours()).await;
    for (stream, before) in [(&first, false), (&again, true)] {
        let events: Vec<Value> = stream
            .lines()
            .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
            .collect();
        let (accepted, started) = (&events[0], &events[1]);
        assert_eq!(
            (&accepted["type"], &accepted["before"]),
            (&json!("accepted"), &json!(before)),
            "{stream}"
        );
        assert_eq!(started["type"], "turn_start", "{stream}");
        assert_eq!(started["messages"], json!([accepted["messageId"]]), "{stream}");
        assert!(!stream.contains("Before.") && !stream.contains("After."), "{stream}");
        assert_eq!(events.last().unwrap()["type"], "turn_end", "{stream}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_ends_after_its_events_were_pruned() {
    let app = TestApp::with("server: { ping_seconds: 1 }\n").await;
    let place = begun(&app, &app.bob).await;
    let say = || streamed(&app, &place, &app.bob, "!say Hello.");
    assert!(all(say()).await.contains("event: text_delta"));
    let later = Timestamp::from(jiff::Timestamp::now()).plus(Duration::from_secs(1));
    assert!(app.store.prune_streams(later, 1_000).await.unwrap() > 0);
    // The buffer of the first stream is freed shortly after its client has read the end.
    let again = eventually(async || {
        let again = all(say()).await;
        if again.contains("incomplete") { Ok(again) } else { Err(again) }
    })
    .await;
    let end = again.split("event: turn_end\ndata: ").nth(1).expect(&again);
    let end: Value = serde_json::from_str(end.lines().next().unwrap()).unwrap();
    assert_eq!((&end["outcome"], &end["incomplete"]), (&json!("done"), &json!(true)), "{end}");
    assert!(place.ends_with(end["sessionId"].as_str().unwrap()), "{end}");
    assert!(!again.contains("event: text_delta"), "{again}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_stream_reports_server_shutdown() {
    let app = TestApp::with("server: { drain_seconds: 1 }\n").await;
    let place = begun(&app, &app.bob).await;
    let mut response = streamed(&app, &place, &app.bob, "!say So far.\n!hang").send().await.unwrap();
    let mut seen = String::new();
    while !seen.contains("event: text_delta") {
        seen += std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap();
    }
    let stopping = tokio::spawn(app.stop());
    assert!(response.text().await.unwrap().contains("event: status"));
    stopping.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_token_closes_its_streams() {
    let app = TestApp::with("server: { ping_seconds: 1, drain_seconds: 1 }\n").await;
    let (credential, now) = (Credential::from_random([7; 32]), Timestamp::from(jiff::Timestamp::now()));
    let new = NewToken {
        id: "tok-short".parse().unwrap(),
        hash: credential.hash(),
        name: "bob's".to_owned(),
        user: "bob".to_owned(),
        scopes: [Scope::Chat].into(),
        mode: None,
        created_at: now,
        expires_at: Some(now.plus(Duration::from_secs(3))),
        limits: TokenLimits::default(),
    };
    app.store.add_token(new).await.unwrap();
    let place = begun(&app, &app.bob).await;
    let open = app.request("GET", &format!("{place}/stream"), credential.reveal()).send().await.unwrap();
    assert_eq!(open.status(), 200);
    let waiting = streamed(&app, &place, credential.reveal(), "!hang").send().await.unwrap();
    assert_eq!(waiting.status(), 200);
    // Neither does the client leave nor the turn end.
    assert!(open.text().await.unwrap().contains(": here"));
    assert!(!waiting.text().await.unwrap().contains("event: turn_end"));
    app.stop().await;
}
