//! Limits of tokens: requests, body size, and spending, on every interface and node.

use std::time::Duration;

use foreword_core::api_token::{Scope, TokenLimits};
use foreword_core::money::Money;
use foreword_store::location::Location;
use foreword_testkit::{eventually, until};
use serde_json::json;

use crate::live_page::{Page, database, folder};
use crate::test_app::{TestApp, read};

/// A thousand dollars per million tokens, so that a turn has a visible cost.
const PRICED: &str = "prices: [{ id: offline/echo, prices: { input: 1000, output: 1000, cache_read: 1000, cache_write_5m: 1000, cache_write_1h: 1000 } }]\n";

#[tokio::test(flavor = "multi_thread")]
async fn rate_limit_names_the_delay_and_spares_other_tokens() {
    let app = TestApp::with("server: { limits: { requests_per_minute: 3 } }\n").await;
    for _ in 0..3 {
        assert_eq!(app.get("/openapi.json", &app.bob).await.0, 200);
    }
    let refused = app.request("GET", "/openapi.json", &app.bob).send().await.unwrap();
    assert_eq!(refused.status(), 429);
    let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=120).contains(&wait), "{wait}");
    let problem: serde_json::Value = serde_json::from_str(&refused.text().await.unwrap()).unwrap();
    assert_eq!(problem["code"], "too_many_requests");
    assert_eq!(app.get("/openapi.json", &app.carol).await.0, 200);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn token_limits_override_the_servers() {
    let app = TestApp::with("server: { limits: { requests_per_minute: 1 } }\n").await;
    let limits = TokenLimits { requests_per_minute: Some(2), ..TokenLimits::default() };
    let token = app.limited_token("bob", &[Scope::Observe], limits).await;
    assert_eq!(app.get("/openapi.json", &token).await.0, 200);
    assert_eq!(app.get("/openapi.json", &token).await.0, 200);
    assert_eq!(app.get("/openapi.json", &token).await.0, 429);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn token_body_limit_can_only_be_smaller() {
    let app = TestApp::with("server: { limits: { body_mb: 2 } }\n").await;
    let token = async |body_mb| {
        let limits = TokenLimits { body_mb: Some(body_mb), ..TokenLimits::default() };
        app.limited_token("bob", &[Scope::Chat, Scope::Observe], limits).await
    };
    let (small, large) = (token(1).await, token(100).await);
    let message = |mb: usize| json!({ "text": "x".repeat(mb * 1024 * 1024 + 100) });
    let send = async |token: &str, mb, says_how_long: bool| {
        let request = app.request("POST", "/api/v1/conversations/none/messages", token);
        let body = message(mb).to_string().into_bytes();
        let body = if says_how_long {
            reqwest::Body::from(body)
        } else {
            reqwest::Body::wrap_stream(futures_util::stream::iter([Ok::<_, std::io::Error>(body)]))
        };
        let request = request.header("content-type", "application/json").body(body);
        let (status, problem) = read(request.send().await.unwrap()).await;
        (status, problem["code"].as_str().unwrap().to_owned())
    };
    for says_how_long in [true, false] {
        let refused = (413, "body_too_large".to_owned());
        assert_eq!(send(&small, 1, says_how_long).await, refused, "{says_how_long}");
        assert_eq!(send(&app.bob, 1, says_how_long).await, (404, "not_found".to_owned()));
        assert_eq!(send(&large, 2, says_how_long).await, refused, "{says_how_long}");
    }
    app.stop().await;
}

/// Today's spending of the token with limits, of all nodes.
async fn spent(app: &TestApp) -> Money {
    let (_, tokens) = app.get("/api/v1/tokens", &app.alice).await;
    let limited = tokens["items"].as_array().unwrap().iter().find(|one| one["limits"] != json!({}));
    let id = limited.unwrap()["id"].as_str().unwrap();
    let today = jiff::Timestamp::now().to_string()[..10].to_owned();
    let spending = app.store.spending(&today).await.unwrap();
    spending.iter().find(|(one, _)| one.as_str() == id).map_or(Money::ZERO, |(_, spent)| *spent)
}

/// Waits until something was spent, and for a while longer, to detect a double charge.
async fn settled(app: &TestApp) -> Money {
    until("something is spent", async || spent(app).await > Money::ZERO).await;
    tokio::time::sleep(Duration::from_secs(7)).await;
    spent(app).await
}

/// The recorded cost of a conversation's turns.
async fn on_record(app: &TestApp, conversation: &str) -> Money {
    let path = format!("/api/v1/turns?session={conversation}");
    let (_, turns) = app.get(&path, &app.alice).await;
    let turns = turns["items"].as_array().unwrap();
    assert!(!turns.is_empty());
    Money::from_dollars(turns.iter().map(|turn| turn["cost_usd"].as_f64().unwrap()).sum())
}

#[tokio::test(flavor = "multi_thread")]
async fn workflow_is_charged_to_its_runner() {
    let folder = folder(PRICED);
    std::fs::create_dir(folder.path().join("workflows")).unwrap();
    let steps =
        "name: greet\ndescription: x\nsteps: [{ name: a, prompt: Hello. }, { name: b, prompt: Again. }]\n";
    std::fs::write(folder.path().join("workflows/greet.yaml"), steps).unwrap();
    let location = Location::file(folder.path().join(".foreword/foreword.db"));
    let app = TestApp::open(folder, &location, &[]).await;
    let limits = TokenLimits { usd_per_day: Some(0.01), concurrent_turns: Some(1), ..TokenLimits::default() };
    let token = app.limited_token("bob", &[Scope::Chat], limits).await;
    let run = async || app.send("POST", "/api/v1/workflows/greet/run", &token, &json!({})).await;
    let (status, end) = run().await;
    assert_eq!((status, &end["outcome"]), (200, &json!("done")), "{end}");
    let refused = eventually(async || {
        let (status, problem) = run().await;
        if problem["code"] == "daily_budget_exceeded" { Ok(status) } else { Err(problem) }
    })
    .await;
    assert_eq!(refused, 429);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_resume_of_a_running_workflow_costs_nothing() {
    let folder = folder(PRICED);
    std::fs::create_dir(folder.path().join("workflows")).unwrap();
    let slow = "name: slow\ndescription: x\nsteps: [{ name: a, prompt: \"!slow 150ms\\n!say one two three four five six\" }]\n";
    std::fs::write(folder.path().join("workflows/slow.yaml"), slow).unwrap();
    let location = Location::file(folder.path().join(".foreword/foreword.db"));
    let app = TestApp::open(folder, &location, &[]).await;
    let limits = TokenLimits { usd_per_day: Some(1_000.0), ..TokenLimits::default() };
    let token = app.limited_token("alice", &[Scope::Chat], limits).await;
    let (status, begun) =
        app.send("POST", "/api/v1/workflows/slow/run", &token, &json!({ "wait": false })).await;
    assert_eq!(status, 202, "{begun}");
    let run = begun["run"].as_str().unwrap();
    let resume = format!("/api/v1/workflows/runs/{run}/resume");
    assert_eq!(app.send("POST", &resume, &token, &json!({})).await.0, 409);
    let paid = settled(&app).await;
    let all = on_record(&app, &format!("workflow-{run}")).await;
    assert!((paid.dollars() - all.dollars()).abs() < 1e-6, "{paid:?} of {all:?}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turn_on_another_node_is_charged_once_and_frees_its_permit() {
    let Some(location) = database("paid") else { return };
    let node = async || TestApp::with_lease(folder(PRICED), &location, &[], Duration::from_secs(1)).await;
    let (one, other) = (node().await, node().await);
    let limits = TokenLimits { concurrent_turns: Some(1), ..TokenLimits::default() };
    let token = other.limited_token("alice", &[Scope::Chat], limits).await;
    let mut here = Page::open(&one, &one.alice).await;
    let session = here.begin("!slow 150ms\n!say This takes a while, for there are many words in it.").await;
    here.until("text_delta").await;
    // The turn runs on one node, which also answers the messages that the other accepts.
    let mut there = Page::open(&other, &token).await;
    let said = json!({ "type": "message", "sessionId": session, "text": "!say Next." });
    assert_eq!(there.ask(&said).await["type"], "accepted");
    assert_eq!(there.ask(&said).await["code"], "too_many_turns");
    let before = async || {
        let (_, turns) = one.get(&format!("/api/v1/turns?session={session}"), &one.alice).await;
        turns["items"].as_array().unwrap().iter().filter(|turn| turn["state"] == "done").count()
    };
    until("both turns end", async || before().await == 2).await;
    let all = on_record(&one, &session).await;
    let paid = settled(&other).await;
    assert!(paid > Money::ZERO && paid < all, "one of two turns: {paid:?} of {all:?}");
    assert_eq!(there.ask(&said).await["type"], "accepted", "the place is free");
    one.stop().await;
    other.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turn_for_several_messages_is_charged_once() {
    let app = TestApp::with(PRICED).await;
    let limits = TokenLimits { usd_per_day: Some(1_000.0), ..TokenLimits::default() };
    let token = app.limited_token("alice", &[Scope::Chat], limits).await;
    let mut page = Page::open(&app, &token).await;
    let session = page.begin("!slow 150ms\n!say This takes a while, for there are many words in it.").await;
    page.until("text_delta").await;
    for words in ["!say One.", "!say Two.", "!say Three."] {
        page.send(&json!({ "type": "message", "sessionId": session, "text": words })).await;
    }
    page.until("turn_end").await;
    let started = page.until("turn_end").await;
    let started = started.iter().find(|item| item["type"] == "turn_start").unwrap();
    assert_eq!(started["messages"].as_array().unwrap().len(), 3, "{started}");
    let paid = settled(&app).await;
    let all = on_record(&app, &session).await;
    assert!((paid.dollars() - all.dollars()).abs() < 1e-6, "{paid:?} of {all:?}");
    app.stop().await;
}
