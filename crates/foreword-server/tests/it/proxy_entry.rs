use foreword_core::api_token::Scope;
use foreword_testkit::{FakeProvider, Reply};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::proxy_observe::{COMPLETIONS, MESSAGES, app_before, post};
use crate::test_app::{TestApp, read};

const BODY: &str = r#"{"model":"m","messages":[]}"#;

#[tokio::test(flavor = "multi_thread")]
async fn missing_token_error_has_the_providers_format() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = app_before(&fake, "").await;
    let gone = format!("fwd_{}", "a".repeat(32));
    for key in ["", "nonsense", &gone] {
        let (status, error) = read(post(&app, MESSAGES, key, BODY).send().await.unwrap()).await;
        assert_eq!(
            (status, &error["type"], &error["error"]["type"]),
            (401, &json!("error"), &json!("authentication_error"))
        );
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains("foreword token create"), "{message}");
        let (status, error) = read(post(&app, COMPLETIONS, key, BODY).send().await.unwrap()).await;
        assert_eq!((status, &error["error"]["code"]), (401, &json!("invalid_api_key")));
        assert_eq!(error["error"]["param"], Value::Null);
    }
    assert_eq!(fake.counts().requests, 0);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn token_is_accepted_in_every_header() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = app_before(&fake, "").await;
    let request = || app.client.post(format!("{}{MESSAGES}", app.url)).body(BODY);
    for request in [
        request().bearer_auth(&app.bob),
        request().header("x-api-key", &app.bob),
        request().header("x-foreword-token", &app.bob).header("x-api-key", "sk-ant-own"),
        request().header("x-api-key", "placeholder").bearer_auth(&app.bob),
    ] {
        assert_eq!(request.send().await.unwrap().status(), 200);
        let received = fake.requests().pop().unwrap();
        assert_eq!(
            (received.header("x-api-key"), received.header("authorization")),
            (Some("sk-ant-owners"), None)
        );
    }
    let looking = app.token("carol", &[Scope::Observe], None).await;
    let (status, error) = read(post(&app, MESSAGES, &looking, BODY).send().await.unwrap()).await;
    assert_eq!((status, &error["error"]["type"]), (403, &json!("permission_error")));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn local_client_with_its_own_key_is_only_observed() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = app_before(&fake, "proxy: { mode: replace }\n").await;
    let request = |key: &str| post(&app, MESSAGES, key, BODY);
    assert_eq!(request("sk-ant-own").send().await.unwrap().status(), 200);
    let received = fake.requests().pop().unwrap();
    assert_eq!((received.header("x-api-key"), received.header("x-owner")), (Some("sk-ant-own"), None));
    assert_eq!(received.text(), BODY, "nobody's prompt is given to whoever has only a key");
    let oauth = app.client.post(format!("{}{MESSAGES}", app.url)).bearer_auth("sk-ant-oat01-x").body(BODY);
    assert_eq!(oauth.send().await.unwrap().status(), 200);
    assert_eq!(fake.requests().pop().unwrap().header("authorization"), Some("Bearer sk-ant-oat01-x"));
    assert_eq!(post(&app, COMPLETIONS, "sk-own", BODY).send().await.unwrap().status(), 200);
    let count = fake.counts().requests;
    for refused in [
        request("sk-ant-own").header("x-forwarded-for", "10.0.0.1"),
        request("sk-ant-own").header("forwarded", "for=10.0.0.1"),
        request("sk-ant-own").header("host", "agent.example.org"),
        request("sk-other"),
        post(&app, COMPLETIONS, "sk-ant-own", BODY),
    ] {
        assert_eq!(refused.send().await.unwrap().status(), 401);
    }
    let page = request("sk-ant-own").header("origin", "http://evil.example").send().await.unwrap();
    assert_eq!(page.status(), 403);
    assert_eq!(fake.counts().requests, count);
    app.stop().await;
    let strict = app_before(&fake, "proxy: { client_keys: never }\n").await;
    assert_eq!(post(&strict, MESSAGES, "sk-ant-own", BODY).send().await.unwrap().status(), 401);
    strict.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bob_cannot_act_as_alice() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = app_before(&fake, "").await;
    for (path, token) in [(MESSAGES, &app.bob), (COMPLETIONS, &app.bob)] {
        let request = post(&app, path, token, BODY).header("x-foreword-user", "alice");
        let (status, error) = read(request.send().await.unwrap()).await;
        assert_eq!((status, &error["error"]["type"]), (403, &json!("permission_error")), "{error}");
    }
    let own = post(&app, MESSAGES, &app.bob, BODY).header("x-foreword-user", "bob");
    assert_eq!(own.send().await.unwrap().status(), 200);
    assert_eq!(fake.counts().requests, 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_key_is_named_to_the_owner() {
    let app = TestApp::start().await;
    for (token, named) in [(&app.alice, true), (&app.bob, false)] {
        let refused = post(&app, MESSAGES, token, BODY).send().await.unwrap();
        assert_eq!(refused.headers()["x-should-retry"], "false");
        let (status, error) = read(refused).await;
        let message = error["error"]["message"].as_str().unwrap();
        assert_eq!((status, message.contains("`ANTHROPIC_API_KEY`")), (500, named), "{message}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_path_is_refused_with_the_valid_ones() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = app_before(&fake, "").await;
    let (status, error) =
        read(post(&app, "/anthropic/v1/complete", &app.bob, BODY).send().await.unwrap()).await;
    assert_eq!((status, &error["error"]["type"]), (404, &json!("not_found_error")));
    assert!(error["error"]["message"].as_str().unwrap().contains("/anthropic/v1/messages"));
    let (status, error) =
        read(post(&app, "/openai/v1/responses", &app.bob, BODY).send().await.unwrap()).await;
    assert_eq!((status, &error["error"]["type"]), (404, &json!("invalid_request_error")));
    assert_eq!(app.get(MESSAGES, &app.bob).await.0, 405);
    assert_eq!(fake.counts().requests, 0);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn oversized_body_is_refused_before_it_is_read() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = app_before(&fake, "server: { limits: { body_mb: 1 } }\n").await;
    let large = "x".repeat(1_100_000);
    let refused = post(&app, MESSAGES, &app.bob, large.clone()).send().await.unwrap();
    // Otherwise the client would send its next request after the unread body.
    assert_eq!(refused.headers()["connection"], "close");
    let (status, error) = read(refused).await;
    assert_eq!((status, &error["error"]["type"]), (413, &json!("request_too_large")));
    // Without `Content-Length`.
    let pieces = futures_util::stream::iter([Ok::<_, std::io::Error>(large.clone()), Ok(large)]);
    let request = post(&app, COMPLETIONS, &app.bob, "").body(reqwest::Body::wrap_stream(pieces));
    let (status, error) = read(request.send().await.unwrap()).await;
    assert_eq!((status, &error["error"]["code"]), (413, &json!("body_too_large")));
    assert_eq!(fake.counts().requests, 0);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusal_keeps_the_connection_usable() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = app_before(&fake, "").await;
    let mut stream = TcpStream::connect(app.url.trim_start_matches("http://")).await.unwrap();
    for (token, expected) in
        [("nonsense", "401"), (app.bob.as_str(), "200"), ("nonsense", "401"), (&app.bob, "200")]
    {
        let length = BODY.len();
        let head = format!(
            "POST {MESSAGES} HTTP/1.1\r\nhost: x\r\nx-api-key: {token}\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        // As client libraries do, the body is sent separately, a little later.
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        stream.write_all(BODY.as_bytes()).await.unwrap();
        let answer = whole_answer(&mut stream).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {expected}")), "{answer}");
    }
    app.stop().await;
}

/// The next response on a connection.
async fn whole_answer(stream: &mut TcpStream) -> String {
    let (mut answer, mut piece) = (String::new(), [0; 4_096]);
    loop {
        let read = stream.read(&mut piece).await.unwrap();
        assert!(read > 0, "the connection was closed: {answer}");
        answer.push_str(std::str::from_utf8(&piece[..read]).unwrap());
        let Some((head, body)) = answer.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if length.is_some_and(|length| length.parse() == Ok(body.len())) {
            return answer;
        }
    }
}
