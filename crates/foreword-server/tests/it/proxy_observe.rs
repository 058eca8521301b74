use std::time::Duration;

use foreword_testkit::{FakeProvider, Reply, Script, eventually};
use serde_json::json;

use crate::test_app::{TestApp, read};

/// A server whose drop-in endpoints forward to `fake`, with the owner's keys.
pub(crate) async fn app_before(fake: &FakeProvider, more: &str) -> TestApp {
    let url = fake.base_url();
    let config = format!(
        "providers:\n  anthropic: {{ base_url: \"{url}\", headers: {{ x-owner: \"yes\" }} }}\n  \
         openai: {{ base_url: \"{url}/v1\" }}\n{more}"
    );
    let secrets = [("ANTHROPIC_API_KEY", "sk-ant-owners"), ("OPENAI_API_KEY", "sk-owners")];
    TestApp::with_secrets(&config, &secrets).await
}

/// A request as official clients send it.
pub(crate) fn post(
    app: &TestApp,
    path: &str,
    token: &str,
    body: impl Into<Vec<u8>>,
) -> reqwest::RequestBuilder {
    let request = app.client.post(format!("{}{path}", app.url)).header("content-type", "application/json");
    let request = if path.starts_with("/anthropic") {
        request.header("x-api-key", token).header("anthropic-version", "2023-06-01")
    } else {
        request.bearer_auth(token)
    };
    request.body(body.into())
}

pub(crate) const MESSAGES: &str = "/anthropic/v1/messages";
pub(crate) const COMPLETIONS: &str = "/openai/v1/chat/completions";

/// Unusual in every way: order, whitespace, escapes, numbers, unknown fields, images, signed thinking.
const ODD: &str = r#" { "stream" : false ,"max_tokens":16.0,"model":"claude-sonnet-4-5","x_unknown":{"b":1e400,"a":[null]},
 "tools":[{"name":"look","input_schema":{"type":"object"}}],"messages":[ {"role":"user","content":[{"type":"text","text":"caf\u00e9 \ud83d\ude00"},
 {"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]},{"role":"assistant","content":[
 {"type":"thinking","thinking":"hm","signature":"EqQBCg=="},{"type":"tool_use","id":"toolu_1","name":"look","input":{"b":1,"a":2}}]},
 {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}],"max_tokens":17 }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn request_is_forwarded_unchanged_without_the_clients_credential() {
    let fake = FakeProvider::start(Reply::text("Good morning.")).unwrap();
    let app = app_before(&fake, "").await;
    for (path, upstream) in [(MESSAGES, "/v1/messages"), (COMPLETIONS, "/v1/chat/completions")] {
        let request = post(&app, &format!("{path}?beta=true"), &app.bob, ODD)
            .header("anthropic-beta", "one,two")
            .header("x-stainless-lang", "python")
            .header("accept-encoding", "gzip");
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert!(response.headers().contains_key("x-foreword-request-id"));
        let received = fake.requests().pop().unwrap();
        assert_eq!(received.path, format!("{upstream}?beta=true"));
        assert_eq!(received.text(), ODD);
        for (name, value) in [("anthropic-beta", "one,two"), ("x-stainless-lang", "python")] {
            assert_eq!(received.header(name), Some(value));
        }
        assert_eq!((received.header("accept-encoding"), received.header("x-foreword-user")), (None, None));
        let all = format!("{:?}", received.headers);
        assert!(!all.contains("fwd_"), "{all}");
    }
    let received = fake.requests();
    assert_eq!(
        (received[0].header("x-api-key"), received[0].header("x-owner")),
        (Some("sk-ant-owners"), Some("yes"))
    );
    assert_eq!(received[1].header("authorization"), Some("Bearer sk-owners"));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_is_returned_unchanged() {
    let reply = || {
        Reply::empty()
            .and_thinking("hm", "c2ln")
            .and_text("Let me look.")
            .and_tool_call("look", json!({ "a": [1, 2] }))
            .header("anthropic-ratelimit-requests-remaining", "7")
            .header("request-id", "req_up_1")
    };
    for (path, direct) in [(MESSAGES, "/v1/messages"), (COMPLETIONS, "/v1/chat/completions")] {
        for stream in [false, true] {
            let body = json!({ "model": "m", "max_tokens": 9, "stream": stream, "messages": [] }).to_string();
            let fake = FakeProvider::start(reply()).unwrap();
            let app = app_before(&fake, "").await;
            let beside = FakeProvider::start(reply()).unwrap();
            let straight = app.client.post(format!("{}{direct}", beside.base_url())).body(body.clone());
            let straight = straight.send().await.unwrap();
            let through = post(&app, path, &app.alice, body).send().await.unwrap();
            assert_eq!(through.status(), straight.status());
            for name in ["content-type", "request-id", "anthropic-ratelimit-requests-remaining"] {
                assert_eq!(through.headers().get(name), straight.headers().get(name), "{name}");
            }
            assert_eq!(through.text().await.unwrap(), straight.text().await.unwrap(), "{path} {stream}");
            app.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streamed_answer_is_forwarded_in_chunks() {
    let fake = FakeProvider::start(Reply::text("one two").then_silence()).unwrap();
    let app = app_before(&fake, "").await;
    let body = json!({ "model": "m", "stream": true, "messages": [] }).to_string();
    let mut response = post(&app, MESSAGES, &app.alice, body).send().await.unwrap();
    // The provider never finishes, but its output so far is forwarded.
    let mut seen = String::new();
    while !seen.contains("two") {
        let piece = tokio::time::timeout(Duration::from_secs(20), response.chunk()).await.unwrap();
        seen.push_str(std::str::from_utf8(&piece.unwrap().unwrap()).unwrap());
    }
    drop(response);
    tokio::time::timeout(Duration::from_secs(20), fake.until(|counts| counts.abandoned == 1)).await.unwrap();
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_to_the_provider_are_reused() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = app_before(&fake, "").await;
    for _ in 0..5 {
        let response = post(&app, MESSAGES, &app.alice, "{}").send().await.unwrap();
        response.bytes().await.unwrap();
    }
    assert_eq!((fake.counts().connections, fake.counts().requests), (1, 5));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_requests_pass_through_in_every_mode() {
    let fake = FakeProvider::start(Script::answering(|_| Reply::raw(r#"{"input_tokens":5}"#))).unwrap();
    let app = app_before(&fake, "proxy: { mode: replace }\n").await;
    let body = r#"{"model":"m","system":"s","messages":[]}"#;
    for (path, upstream) in [
        ("/anthropic/v1/messages/count_tokens", "/v1/messages/count_tokens"),
        ("/openai/v1/embeddings", "/v1/embeddings"),
    ] {
        let answer = read(post(&app, path, &app.bob, body).send().await.unwrap()).await;
        assert_eq!(answer, (200, json!({ "input_tokens": 5 })));
        let received = fake.requests().pop().unwrap();
        assert_eq!((received.path.as_str(), received.text().as_str()), (upstream, body));
    }
    for (path, upstream) in [
        ("/anthropic/v1/models?limit=5", "/v1/models?limit=5"),
        ("/anthropic/v1/models/claude-x", "/v1/models/claude-x"),
        ("/openai/v1/models", "/v1/models"),
        ("/openai/models/gpt-x", "/v1/models/gpt-x"),
    ] {
        assert_eq!(app.get(path, &app.bob).await.0, 200, "{path}");
        let received = fake.requests().pop().unwrap();
        assert_eq!((received.method.as_str(), received.path.as_str()), ("GET", upstream));
    }
    app.stop().await;
}

/// The response once it is not 404.
async fn found(app: &TestApp, path: &str, token: &str) -> (u16, serde_json::Value) {
    eventually(async || {
        let found = app.get(path, token).await;
        if found.0 == 404 { Err(found) } else { Ok(found) }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn proxied_request_is_traced_by_its_response_id() {
    let fake = FakeProvider::start(Reply::text("Good morning.")).unwrap();
    let app = app_before(&fake, "").await;
    let response = post(&app, MESSAGES, &app.bob, ODD).send().await.unwrap();
    let id = response.headers()["x-foreword-request-id"].to_str().unwrap().to_owned();
    response.bytes().await.unwrap();
    let path = format!("/api/v1/traces/{id}");
    // The record is written after the response.
    let (status, trace) = found(&app, &path, &app.alice).await;
    assert_eq!((status, &trace["request"], &trace["turn"]), (200, &json!(id), &json!(null)), "{trace}");
    assert_eq!((&trace["state"], &trace["calls"]), (&json!("done"), &json!(1)), "{trace}");
    assert_eq!(trace["spans"][0]["name"], json!("api_call"), "{trace}");
    assert!(trace["session_id"].as_str().unwrap().starts_with("proxy:"), "{trace}");
    // The conversation is stored with the next batch.
    assert_eq!(found(&app, &path, &app.bob).await.0, 200, "bob's own request");
    let (other, _) = app.get(&path, &app.carol).await;
    assert_eq!(other, 404, "somebody else's request");
    app.stop().await;
}
