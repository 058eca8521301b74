//! Budgets and spending limits apply to proxied requests, also if the provider reports no usage.

use foreword_core::api_token::{Scope, TokenLimits};
use foreword_core::event::{Event, EventType};
use foreword_core::message::Usage;
use foreword_store::events::{EventFilter, EventPage};
use foreword_testkit::{FakeProvider, Reply, Script, eventually};
use serde_json::{Value, json};

use crate::proxy_observe::{COMPLETIONS, MESSAGES, app_before, post};
use crate::test_app::{TestApp, read};

const BUDGET: &str = "budgets: [{ usd: 0.01, per: day }]\n";

fn provider() -> FakeProvider {
    let usage = Usage { input: 20, output: 5, cache_write: 12_000, ..Usage::default() };
    FakeProvider::start(Script::answering(move |_| Reply::text("certainly").usage(usage))).unwrap()
}

/// A request of ten thousand tokens that does not request usage.
fn long() -> String {
    let message = json!({ "role": "user", "content": "Be brief. ".repeat(4_000) });
    json!({ "model": "gpt-5", "stream": true, "messages": [message] }).to_string()
}

fn short() -> String {
    let message = json!({ "role": "user", "content": "hi" });
    json!({ "model": "claude-sonnet-5", "max_tokens": 9, "messages": [message] }).to_string()
}

/// Sends requests until one is refused: spending is counted after the response.
async fn until_refused(app: &TestApp, path: &str, token: &str, body: &str) -> (u16, String, Value) {
    eventually(async || {
        let response = post(app, path, token, body).send().await.unwrap();
        if response.status() != 200 {
            let code = response.headers()["x-foreword-error"].to_str().unwrap().to_owned();
            let (status, error) = read(response).await;
            return Ok((status, code, error));
        }
        response.bytes().await.unwrap();
        Err("nothing is refused")
    })
    .await
}

async fn events(app: &TestApp, event_type: EventType) -> Vec<Event> {
    let filter = EventFilter { event_type: Some(event_type), ..EventFilter::default() };
    let found = app.store.events(&filter, &EventPage::newest(500)).await.unwrap();
    found.into_iter().map(|stored| stored.event).collect()
}

/// A recorded call, shortly after its response.
async fn a_call(app: &TestApp) -> Event {
    eventually(async || events(app, EventType::ApiCall).await.pop().ok_or("no call is recorded")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn exhausted_budget_stops_proxied_requests() {
    let fake = provider();
    let app = app_before(&fake, BUDGET).await;
    let (status, code, error) = until_refused(&app, MESSAGES, &app.bob, &short()).await;
    assert_eq!((status, &*code, &error["error"]["type"]), (429, "over_budget", &json!("rate_limit_error")));
    let words = error["error"]["message"].as_str().unwrap();
    assert!(words.contains("spending limit is reached") && !words.contains('$'), "{words}");
    let sent = fake.counts().requests;
    let response = post(&app, COMPLETIONS, &app.alice, long()).send().await.unwrap();
    let wait: u64 = response.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    let (status, error) = read(response).await;
    assert_eq!((status, &error["error"]["code"]), (429, &json!("over_budget")));
    assert!(error["error"]["message"].as_str().unwrap().contains('$'), "the owner is told how much: {error}");
    assert!((1..=86_400).contains(&wait), "{wait}");
    assert_eq!(fake.counts().requests, sent, "nothing that is refused reaches the provider");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_without_usage_is_counted_by_estimate() {
    let fake = provider();
    let app = app_before(&fake, BUDGET).await;
    let (_, code, _) = until_refused(&app, COMPLETIONS, &app.bob, &long()).await;
    assert_eq!(code, "over_budget");
    let call = a_call(&app).await;
    assert_eq!(
        (call.cost_usd, call.tokens_in),
        (None, None),
        "what is not known is not written as if it were"
    );
    assert!(call.metadata.unwrap()["estimatedCostUsd"].as_f64().unwrap() > 0.01);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_framing_is_not_estimated_as_tokens() {
    let fake = FakeProvider::start(Reply::text("one more word ".repeat(500))).unwrap();
    let app = app_before(&fake, "").await;
    let body =
        json!({ "model": "gpt-5", "stream": true, "messages": [{ "role": "user", "content": "go on" }] });
    let response = post(&app, COMPLETIONS, &app.bob, body.to_string()).send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.bytes().await.unwrap();
    let call = a_call(&app).await;
    let estimate = call.metadata.unwrap()["estimatedCostUsd"].as_f64().unwrap();
    // 1,500 words, at ten dollars per million tokens.
    assert!((0.005..0.05).contains(&estimate), "{estimate}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn embeddings_are_refused_over_budget() {
    let fake = provider();
    let app = app_before(&fake, "").await;
    let limits = TokenLimits { usd_per_day: Some(0.01), ..TokenLimits::default() };
    let token = app.limited_token("bob", &[Scope::Chat], limits).await;
    until_refused(&app, COMPLETIONS, &token, &long()).await;
    let body = json!({ "model": "text-embedding-3-small", "input": "x" }).to_string();
    let (status, error) = read(post(&app, "/openai/v1/embeddings", &token, body).send().await.unwrap()).await;
    assert_eq!((status, &error["error"]["code"]), (429, &json!("daily_budget_exceeded")));
    let models = app.request("GET", "/openai/v1/models", &token).send().await.unwrap();
    // By no proxy in between.
    assert!(models.headers().get("x-foreword-error").is_none(), "what costs nothing is not refused");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cost_that_the_provider_reports_is_recorded() {
    let usage = json!({ "prompt_tokens": 6, "completion_tokens": 2, "total_tokens": 8, "cost": 0.25 });
    let choice = json!({ "index": 0, "delta": { "content": "Hello." }, "finish_reason": "stop" });
    let chunk = json!({ "id": "gen-1", "model": "gpt-4o", "choices": [choice], "usage": usage });
    let whole = json!({ "id": "gen-2", "model": "gpt-4o", "choices": [], "usage": usage });
    for (stream, answer) in [(false, whole.to_string()), (true, format!("data: {chunk}\n\ndata: [DONE]\n\n"))]
    {
        let fake = FakeProvider::start(Reply::raw(answer)).unwrap();
        let app = app_before(&fake, "").await;
        let body = json!({ "model": "gpt-4o", "stream": stream, "messages": [] }).to_string();
        let response = post(&app, COMPLETIONS, &app.bob, body).send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.bytes().await.unwrap();
        let call = a_call(&app).await;
        assert_eq!((call.tokens_in, call.cost_usd), (Some(6), Some(0.25)), "{stream}");
        app.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn embeddings_are_charged_by_the_providers_numbers() {
    let prices = "prices: [{ id: openai/text-embedding-3-small, prices: { input: 1000, output: 0 } }]\n";
    let answer = json!({ "object": "list", "data": [], "usage": { "prompt_tokens": 6, "total_tokens": 6 } });
    let fake = FakeProvider::start(Script::answering(move |_| Reply::raw(answer.to_string()))).unwrap();
    let app = app_before(&fake, prices).await;
    let limits = TokenLimits { usd_per_day: Some(0.01), ..TokenLimits::default() };
    let token = app.limited_token("bob", &[Scope::Chat], limits).await;
    let body = json!({ "model": "text-embedding-3-small", "input": "hello there" }).to_string();
    let (status, code, _) = until_refused(&app, "/openai/v1/embeddings", &token, &body).await;
    assert_eq!((status, &*code), (429, "daily_budget_exceeded"));
    assert!(fake.counts().requests >= 2, "six tokens are less than the limit");
    let call = a_call(&app).await;
    assert_eq!((call.tokens_in, call.cost_usd), (Some(6), Some(0.006)));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_without_usage_counts_against_its_token() {
    let fake = provider();
    let app = app_before(&fake, "").await;
    let limits = TokenLimits { usd_per_day: Some(0.01), ..TokenLimits::default() };
    let token = app.limited_token("bob", &[Scope::Chat], limits).await;
    let (status, code, _) = until_refused(&app, COMPLETIONS, &token, &long()).await;
    assert_eq!((status, &*code), (429, "daily_budget_exceeded"));
    app.stop().await;
}
