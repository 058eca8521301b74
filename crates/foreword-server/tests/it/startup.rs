use foreword_core::id::TokenId;
use foreword_core::timestamp::Timestamp;

use foreword_testkit::{FakeProvider, Reply, until};

use crate::proxy_observe::{COMPLETIONS, app_before, post};
use crate::test_app::{TestApp, read};

#[tokio::test(flavor = "multi_thread")]
async fn only_health_and_readiness_need_no_token() {
    let app = TestApp::start().await;
    for open in ["/healthz", "/readyz"] {
        let response = app.client.get(format!("{}{open}", app.url)).send().await.unwrap();
        assert_eq!(response.status(), 200, "{open}");
    }
    let (status, problem) = read(app.client.get(format!("{}/metrics", app.url)).send().await.unwrap()).await;
    assert_eq!((status, &problem["code"]), (401, &"unauthorized".into()));
    assert_eq!(app.get("/metrics", &app.alice).await.0, 200);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_token_stops_working_within_a_moment() {
    let app = TestApp::start().await;
    assert_eq!(app.get("/openapi.json", &app.bob).await.0, 200);
    let tokens = app.store.tokens().await.unwrap();
    let id: TokenId = tokens.iter().find(|token| token.user == "bob").unwrap().id.clone();
    let now: Timestamp = jiff::Timestamp::now().into();
    app.store.revoke_token(&id, now).await.unwrap();
    until("the token is refused", async || app.get("/openapi.json", &app.bob).await.0 == 401).await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusal_with_an_unread_body_closes_the_connection() {
    let app = TestApp::start().await;
    let send = |token: &str| {
        let request = app.request("POST", "/api/v1/conversations", token);
        request.header("content-type", "application/json").body("{}").send()
    };
    let refused = send("fwd_nobodys").await.unwrap();
    assert_eq!((refused.status().as_u16(), refused.headers()["connection"].as_bytes()), (401, &b"close"[..]));
    let taken = send(&app.alice).await.unwrap();
    assert!(taken.status().is_success() && !taken.headers().contains_key("connection"), "{taken:?}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_route_has_a_code_and_a_request_id() {
    let app = TestApp::start().await;
    let response =
        app.request("GET", "/nothing", &app.alice).header("x-request-id", "mine-1").send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    assert_eq!(response.headers()["x-request-id"], "mine-1");
    let (status, problem) = read(response).await;
    assert_eq!((status, &problem["code"]), (404, &"not_found".into()));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cors_allows_only_configured_origins() {
    let fake = FakeProvider::start(Reply::text("hi").header("access-control-allow-origin", "*")).unwrap();
    let app = app_before(&fake, "server: { origins: [\"https://desk.example.org\"] }\n").await;
    let paths = ["/api/v1/conversations", COMPLETIONS];
    for (origin, is_named) in [("https://desk.example.org", true), ("https://evil.example", false)] {
        for path in paths {
            let asks = app.client.request("OPTIONS".parse().unwrap(), format!("{}{path}", app.url));
            let asks = asks.header("origin", origin).header("access-control-request-method", "POST");
            let asks = asks.header("access-control-request-headers", "authorization, content-type");
            let answer = asks.send().await.unwrap();
            assert_eq!(answer.status() == 204, is_named, "{origin} {path}");
            let body = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
            let answer = post(&app, path, &app.bob, body).header("origin", origin).send().await.unwrap();
            assert_eq!(answer.status() == 403, !is_named, "{origin} {path}");
            let shown =
                answer.headers().get("access-control-allow-origin").map(|shown| shown.to_str().unwrap());
            assert_eq!(shown, is_named.then_some(origin), "{path}");
            assert!(!answer.headers().contains_key("access-control-allow-credentials"));
        }
    }
    // A program sends no `Origin`, and gets no CORS headers.
    let answer = post(&app, COMPLETIONS, &app.bob, r#"{"model":"m","messages":[]}"#).send().await.unwrap();
    assert!(!answer.headers().contains_key("access-control-allow-origin"));
    app.stop().await;
}
