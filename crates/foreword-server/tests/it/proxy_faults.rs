use std::time::Duration;

use foreword_testkit::{FakeProvider, Reply};
use serde_json::{Value, json};

use crate::proxy_observe::{COMPLETIONS, MESSAGES, app_before, post};
use crate::test_app::{TestApp, read};

const BODY: &str = r#"{"model":"m","stream":true,"messages":[]}"#;
const HASTY: &str = "proxy: { max_retries: 2 }\n";

async fn ask(app: &TestApp, path: &str) -> (u16, Value) {
    read(post(app, path, &app.alice, BODY).send().await.unwrap()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn provider_refusal_reaches_the_client_unchanged() {
    for (status, body) in [
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: Field required"}}"#,
        ),
        (401, r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#),
        (404, "not even JSON"),
        (429, r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#),
    ] {
        let reply =
            Reply::raw(body).with_status(status).header("retry-after", "7").header("request-id", "req_9");
        let fake = FakeProvider::start(reply).unwrap();
        let app = app_before(&fake, HASTY).await;
        let response = post(&app, MESSAGES, &app.alice, BODY).send().await.unwrap();
        assert_eq!(response.status().as_u16(), status);
        assert_eq!(
            (&response.headers()["retry-after"], &response.headers()["request-id"]),
            (&"7".parse().unwrap(), &"req_9".parse().unwrap())
        );
        assert_eq!(response.text().await.unwrap(), body);
        assert_eq!(fake.counts().requests, 1, "{status} is the client's to try again");
        app.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn transient_errors_are_retried_before_the_first_byte() {
    for reply in [
        Reply::status(529),
        Reply::status(500),
        Reply::status(503).header("retry-after", "0"),
        Reply::hang_up(),
    ] {
        let fake = FakeProvider::start([reply.clone(), reply, Reply::text("there")]).unwrap();
        let app = app_before(&fake, HASTY).await;
        let (status, text) = ask(&app, MESSAGES).await;
        assert_eq!(status, 200, "{text}");
        let received = fake.requests();
        assert_eq!(received.len(), 3);
        assert!(received.iter().all(|request| request.text() == BODY));
        app.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_respect_client_and_provider_headers() {
    let check = async |reply: Reply, header: Option<(&str, &str)>| {
        let fake = FakeProvider::start(reply).unwrap();
        let app = app_before(&fake, HASTY).await;
        let mut request = post(&app, COMPLETIONS, &app.alice, BODY);
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        assert_eq!(request.send().await.unwrap().status(), 529);
        assert_eq!(fake.counts().requests, 1, "{header:?}");
        app.stop().await;
    };
    check(Reply::status(529), Some(("x-foreword-retries", "0"))).await;
    check(Reply::status(529), Some(("x-should-retry", "false"))).await;
    check(Reply::status(529), Some(("x-stainless-retry-count", "1"))).await;
    check(Reply::status(529).header("x-should-retry", "false"), None).await;
    check(Reply::status(529).header("retry-after", "60"), None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn permanent_error_reaches_the_client_after_the_last_retry() {
    let fake = FakeProvider::start(Reply::status(529).message("overloaded today")).unwrap();
    let app = app_before(&fake, HASTY).await;
    let (status, error) = ask(&app, MESSAGES).await;
    assert_eq!((status, fake.counts().requests), (529, 3));
    assert!(error.to_string().contains("overloaded today"), "{error}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unreachable_provider_is_a_bad_gateway() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let config = format!("providers: {{ anthropic: {{ base_url: \"http://127.0.0.1:{port}\" }} }}\n{HASTY}");
    let app = TestApp::with_secrets(&config, &[("ANTHROPIC_API_KEY", "sk-ant-owners")]).await;
    let (status, error) = ask(&app, MESSAGES).await;
    assert_eq!((status, &error["error"]["type"]), (502, &json!("api_error")));
    assert!(!error.to_string().contains("sk-ant"), "{error}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_provider_times_out() {
    let fake = FakeProvider::start(Reply::silence()).unwrap();
    let url = fake.base_url();
    let config = format!(
        "providers: {{ openai: {{ base_url: \"{url}/v1\" }} }}\nproxy: {{ first_byte_seconds: 1, idle_seconds: 1 }}\n"
    );
    let app = TestApp::with_secrets(&config, &[("OPENAI_API_KEY", "sk-owners")]).await;
    let (status, error) = ask(&app, COMPLETIONS).await;
    assert_eq!((status, &error["error"]["type"]), (504, &json!("server_error")));
    tokio::time::timeout(Duration::from_secs(20), fake.until(|counts| counts.abandoned == 1)).await.unwrap();
    app.stop().await;
    let fake = FakeProvider::start(Reply::text("one two").then_silence()).unwrap();
    let app =
        TestApp::with_secrets(&config.replace(&url, &fake.base_url()), &[("OPENAI_API_KEY", "sk-owners")])
            .await;
    let response = post(&app, COMPLETIONS, &app.alice, BODY).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.bytes().await.is_err(), "an answer that stops is cut off, never ended");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn aborted_upstream_aborts_the_client_response() {
    let fake = FakeProvider::start(Reply::cut_after("three words so")).unwrap();
    let app = app_before(&fake, HASTY).await;
    for path in [MESSAGES, COMPLETIONS] {
        let mut response = post(&app, path, &app.alice, BODY).send().await.unwrap();
        let mut seen = String::new();
        let end = loop {
            match response.chunk().await {
                Ok(Some(piece)) => seen.push_str(&String::from_utf8_lossy(&piece)),
                end => break end,
            }
        };
        assert!(end.is_err(), "{seen}");
        assert!(seen.contains("three"), "{seen}");
    }
    assert_eq!(fake.counts().requests, 2, "nothing is tried again once something was passed on");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_bodies_are_forwarded_unchanged() {
    let fake = FakeProvider::start(Reply::raw(b"\xff\xfe{data: nonsense\n\n".to_vec())).unwrap();
    let app = app_before(&fake, HASTY).await;
    let response = post(&app, MESSAGES, &app.alice, "\u{0}no json").send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(&response.bytes().await.unwrap()[..], b"\xff\xfe{data: nonsense\n\n");
    assert_eq!(fake.requests()[0].text(), "\u{0}no json");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn disconnected_client_cancels_its_request() {
    let fake = FakeProvider::start(Reply::silence()).unwrap();
    let app = app_before(&fake, HASTY).await;
    let asking = tokio::spawn(post(&app, MESSAGES, &app.alice, BODY).send());
    tokio::time::timeout(Duration::from_secs(20), fake.until(|counts| counts.requests == 1)).await.unwrap();
    asking.abort();
    tokio::time::timeout(Duration::from_secs(20), fake.until(|counts| counts.abandoned == 1)).await.unwrap();
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn client_disconnect_cancels_the_provider_call() {
    let fake = FakeProvider::start(Reply::text("The first words.").then_silence()).unwrap();
    let app = app_before(&fake, "").await;
    let mut answer = post(&app, MESSAGES, &app.alice, BODY).send().await.unwrap();
    assert!(answer.chunk().await.unwrap().is_some());
    drop(answer);
    tokio::time::timeout(Duration::from_secs(20), fake.until(|counts| counts.abandoned == 1)).await.unwrap();
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn client_that_never_reads_its_answer_is_disconnected() {
    let fake = FakeProvider::start(Reply::text("x".repeat(20_000_000)).in_pieces_of(65_536)).unwrap();
    let app = app_before(&fake, "server: { limits: { header_seconds: 1 } }\n").await;
    let mut stream = tokio::net::TcpStream::connect(app.url.trim_start_matches("http://")).await.unwrap();
    let head = format!(
        "POST {MESSAGES} HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        app.alice,
        BODY.len()
    );
    tokio::io::AsyncWriteExt::write_all(&mut stream, format!("{head}{BODY}").as_bytes()).await.unwrap();
    tokio::time::timeout(Duration::from_secs(60), fake.until(|counts| counts.abandoned == 1)).await.unwrap();
    // Other requests are served.
    assert_eq!(app.get("/api/v1/status", &app.alice).await.0, 200);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redirect_is_neither_followed_nor_passed_on() {
    let reply = Reply::raw("").with_status(307).header("location", "http://evil.example/");
    let fake = FakeProvider::start(reply).unwrap();
    let app = app_before(&fake, HASTY).await;
    let response = post(&app, MESSAGES, &app.alice, BODY).send().await.unwrap();
    assert_eq!(response.status(), 502);
    assert!(!response.headers().contains_key("location"));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_call_is_awaited_as_long_as_its_client_waits() {
    let fake = FakeProvider::start(Reply::silence()).unwrap();
    let url = fake.base_url();
    // The timeouts of the agent's own calls do not apply.
    let config = format!(
        "providers: {{ openai: {{ base_url: \"{url}/v1\", timeouts: {{ first_byte_ms: 50, idle_ms: 50 }} }} }}\n"
    );
    let app = TestApp::with_secrets(&config, &[("OPENAI_API_KEY", "sk-owners")]).await;
    let asked = post(&app, COMPLETIONS, &app.alice, BODY).send();
    assert!(tokio::time::timeout(Duration::from_millis(700), asked).await.is_err(), "it was not waited for");
    let request = post(&app, COMPLETIONS, &app.alice, BODY).header("x-stainless-timeout", "0.2");
    let (status, error) = read(request.send().await.unwrap()).await;
    assert_eq!(status, 504, "{error}");
    assert!(error.to_string().contains("within 1 seconds"), "{error}");
    app.stop().await;
}
