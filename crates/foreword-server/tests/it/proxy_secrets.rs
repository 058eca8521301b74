//! Secrets at the drop-in endpoints: provider keys never reach clients, tokens never reach providers, and provider
//! headers can't imitate this server's.

use foreword_testkit::{FakeProvider, Reply};
use serde_json::json;

use crate::proxy_observe::{COMPLETIONS, MESSAGES, app_before, post};
use crate::test_app::read;

const BODY: &str = r#"{"model":"m","messages":[]}"#;

#[tokio::test(flavor = "multi_thread")]
async fn provider_keys_are_masked_in_error_bodies() {
    let error = |key: &str| {
        format!(r#"{{"error":{{"message":"Incorrect API key provided: {key}. Both: sk-owners"}}}}"#)
    };
    for (path, key) in [(MESSAGES, "sk-ant-owners"), (COMPLETIONS, "sk-owners")] {
        for pieces in [7, 1_000] {
            let reply = Reply::raw(error(key)).with_status(401).header("x-echo", key).in_pieces_of(pieces);
            let fake = FakeProvider::start(reply).unwrap();
            let app = app_before(&fake, "").await;
            let response = post(&app, path, &app.bob, BODY).send().await.unwrap();
            assert_eq!(response.status(), 401);
            assert_eq!(response.headers().get("x-echo"), None);
            let body = response.text().await.unwrap();
            let masked = error(key).replace(key, &"*".repeat(key.len())).replace("sk-owners", "*********");
            assert_eq!(body, masked);
            app.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_errors_are_not_passed_on() {
    let reply = Reply::raw("sk-owners").with_status(429).header("content-encoding", "gzip");
    let fake = FakeProvider::start(reply).unwrap();
    let app = app_before(&fake, "").await;
    let response = post(&app, COMPLETIONS, &app.bob, BODY).send().await.unwrap();
    assert_eq!((response.status().as_u16(), response.headers().get("content-encoding")), (429, None));
    let body = response.text().await.unwrap();
    assert!(body.contains("provider_error_compressed") && !body.contains("sk-owners"), "{body}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_reach_no_provider_in_any_header_or_parameter() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = app_before(&fake, "").await;
    let token = app.bob.clone();
    for path in [MESSAGES, COMPLETIONS] {
        let request = post(&app, &format!("{path}?beta=true&key={token}"), &token, BODY)
            .header("api-key", &token)
            .header("x-goog-api-key", &token)
            .header("referer", format!("{}/docs?token={token}", app.url))
            .header("sec-websocket-protocol", format!("foreword.v1, bearer.{token}"))
            .header("x-anything", format!("Bearer {token}"))
            .header("x-kept", "yes");
        assert_eq!(request.send().await.unwrap().status(), 200);
        let received = fake.requests().pop().unwrap();
        assert!(received.path.ends_with("?beta=true"), "{}", received.path);
        assert_eq!(received.header("x-kept"), Some("yes"));
        assert!(!format!("{received:?}").contains(&token), "{received:?}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reserved_headers_are_dropped_from_answers() {
    let forged = [
        ("x-foreword-error", "forged"),
        ("x-foreword-conversation", "c-forged"),
        ("clear-site-data", "\"*\""),
        ("refresh", "0; url=https://example.com"),
        ("set-cookie", "a=b"),
    ];
    let reply =
        forged.iter().fold(Reply::text("hi").whole(), |reply, (name, value)| reply.header(*name, *value));
    let fake = FakeProvider::start(reply).unwrap();
    let app = app_before(&fake, "").await;
    let response = post(&app, MESSAGES, &app.bob, BODY).send().await.unwrap();
    assert_eq!(response.status(), 200);
    for (name, value) in forged {
        assert_ne!(response.headers().get(name).and_then(|found| found.to_str().ok()), Some(value), "{name}");
    }
    assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    assert_eq!(response.headers()["cache-control"], "no-store");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn model_ids_may_have_a_slash() {
    let fake = FakeProvider::start(Reply::raw(r#"{"id":"meta-llama/llama-4"}"#)).unwrap();
    let app = app_before(&fake, "").await;
    for id in ["meta-llama/llama-4", "meta-llama%2Fllama-4", "ft%3Agpt%2Fx"] {
        let url = format!("{}/openai/v1/models/{id}", app.url);
        let (status, model) = read(app.client.get(url).bearer_auth(&app.bob).send().await.unwrap()).await;
        assert_eq!((status, &model["id"]), (200, &json!("meta-llama/llama-4")), "{id}");
        assert_eq!(fake.requests().pop().unwrap().path, format!("/v1/models/{id}"));
    }
    for id in ["..%2Fmessages", "a%2F..%2F..%2Fx", "%252e%252e"] {
        let url = format!("{}/openai/v1/models/{id}", app.url);
        let response = app.client.get(url).bearer_auth(&app.bob).send().await.unwrap();
        assert_eq!(response.status(), 404, "{id}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn json_is_neither_sniffed_nor_stored() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = app_before(&fake, "").await;
    for (method, path, token) in [
        ("GET", "/api/v1/status", app.alice.as_str()),
        ("GET", "/api/v1/nothing-here", &app.alice),
        ("GET", "/api/v1/conversations", "fwd_wrong"),
        ("GET", "/openapi.json", &app.alice),
        ("GET", "/healthz", &app.alice),
        ("POST", "/api/v1/conversations", &app.alice),
        ("POST", "/openai/v1/nothing-here", &app.alice),
        ("POST", MESSAGES, "fwd_wrong"),
    ] {
        let response = app.request(method, path, token).send().await.unwrap();
        let media = response.headers()["content-type"].to_str().unwrap().to_owned();
        assert!(media.contains("json"), "{method} {path}: {media}");
        assert_eq!(response.headers()["x-content-type-options"], "nosniff", "{method} {path}");
        assert_eq!(response.headers()["cache-control"], "no-store", "{method} {path}");
    }
    app.stop().await;
}
