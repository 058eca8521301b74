//! Messages whose turn waits for the owner's approval: every response mode returns at once and names the question. A response that
//! waited for the owner would run into the client's time-out, which is shorter than the owner may take.

use std::time::Duration;

use foreword_store::location::Location;
use serde_json::{Value, json};

use crate::live_page::{Page, folder};
use crate::test_app::TestApp;

const TAINTS: &str = "!tool bash {\"command\":\"echo do as I say\"}";
const ASKS: &str = "!tool write_file {\"path\":\"one.md\",\"text\":\"as it was told\"}";

/// A conversation of alice that has read untrusted text, so that writing a file needs her approval.
async fn tainted(app: &TestApp) -> String {
    let (status, made) = app.send("POST", "/api/v1/conversations", &app.alice, &json!({})).await;
    assert_eq!(status, 201, "{made}");
    let place = format!("/api/v1/conversations/{}", made["id"].as_str().unwrap());
    let (status, said) = say(app, &place, TAINTS).await;
    assert_eq!((status, &said["outcome"]), (200, &json!("done")), "{said}");
    place
}

async fn say(app: &TestApp, place: &str, text: &str) -> (u16, Value) {
    app.send("POST", &format!("{place}/messages"), &app.alice, &json!({ "text": text })).await
}

async fn say_under_key(app: &TestApp, place: &str, accept: &str) -> (u16, String) {
    let request = app.request("POST", &format!("{place}/messages"), &app.alice);
    let request = request.header("content-type", "application/json").header("accept", accept);
    let request = request.header("idempotency-key", "k-1").body(json!({ "text": ASKS }).to_string());
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

async fn approve(app: &TestApp, place: &str, question: &Value) {
    let mut page = Page::open(app, &app.alice).await;
    let session = place.rsplit('/').next().unwrap();
    page.subscribe(session, 0).await;
    let answer = json!({ "type": "answer", "sessionId": session, "callId": question, "answer": "once" });
    page.send(&answer).await;
    page.until("answered").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn message_needing_approval_returns_the_question() {
    let app = TestApp::start().await;
    let place = tainted(&app).await;
    let (status, asked) = say_under_key(&app, &place, "application/json").await;
    let asked: Value = serde_json::from_str(&asked).unwrap();
    assert_eq!((status, &asked["outcome"]), (202, &json!("waiting_for_approval")), "{asked}");
    assert!(asked["question"].is_string() && asked["turn"].is_string(), "{asked}");
    assert!(!app.folder.path().join("one.md").exists());
    // A message that is queued behind it waits for the same approval.
    let (status, queued) = say(&app, &place, "And then?").await;
    assert_eq!((status, &queued["outcome"]), (202, &json!("waiting_for_approval")), "{queued}");
    assert_eq!((&queued["question"], &queued["turn"]), (&asked["question"], &Value::Null));
    // After the approval the same message has its answer.
    approve(&app, &place, &asked["question"]).await;
    let (status, said) = say_under_key(&app, &place, "application/json").await;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((status, &said["outcome"], &said["turn"]), (200, &json!("done"), &asked["turn"]), "{said}");
    assert_eq!(said.get("question"), None);
    assert!(app.folder.path().join("one.md").exists());
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_awaiting_an_answer_ends_when_approval_is_needed() {
    let app = TestApp::start().await;
    let place = tainted(&app).await;
    let (_, stream) = say_under_key(&app, &place, "text/event-stream").await;
    let last = stream.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!(last["type"], "waiting_for_approval", "{stream}");
    assert_eq!(last["outcome"], "waiting_for_approval");
    let question = stream.split("event: question\ndata: ").nth(1).unwrap().lines().next().unwrap();
    let question: Value = serde_json::from_str(question).unwrap();
    assert_eq!(last["question"], question["callId"]);
    // Posted again it ends the same way, and with the turn after the owner's answer.
    let (_, again) = say_under_key(&app, &place, "text/event-stream").await;
    assert!(again.contains("event: waiting_for_approval"), "{again}");
    approve(&app, &place, &last["question"]).await;
    let (_, answered) = say_under_key(&app, &place, "text/event-stream").await;
    assert!(answered.contains("event: turn_end"), "{answered}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn message_on_another_node_returns_the_question() {
    let shared = tempfile::tempdir().unwrap();
    let location = Location::file(shared.path().join("foreword.db"));
    let lease = Duration::from_secs(30);
    let one = TestApp::with_lease(folder(""), &location, &[], lease).await;
    let other = TestApp::with_lease(folder(""), &location, &[], lease).await;
    let place = tainted(&one).await;
    let (_, asked) = say(&one, &place, ASKS).await;
    let (status, queued) = say(&other, &place, "And then?").await;
    assert_eq!((status, &queued["outcome"]), (202, &json!("waiting_for_approval")), "{queued}");
    assert_eq!(queued["question"], asked["question"]);
    // A stopping server drains its turns.
    let (status, _) = one.send("POST", &format!("{place}/cancel"), &one.alice, &json!(null)).await;
    assert_eq!(status, 202);
    one.stop().await;
    other.stop().await;
}
