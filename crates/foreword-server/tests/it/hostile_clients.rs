//! Clients that try to keep the server busy: slow ones, large bodies, large heads.

use std::time::Duration;

use foreword_core::api_token::Scope;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::test_app::TestApp;

const QUICK: &str = "server: { limits: { header_seconds: 1, body_mb: 1 } }\n";

async fn connect(app: &TestApp) -> TcpStream {
    TcpStream::connect(app.url.trim_start_matches("http://")).await.unwrap()
}

/// The server's output until it closes the connection.
async fn rest(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(25), stream.read_to_end(&mut all)).await;
    // A reset connection is closed too.
    let _ = read.expect("the server closes the connection");
    String::from_utf8_lossy(&all).into_owned()
}

fn post(path: &str, token: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn byte_by_byte_requests_time_out() {
    let app = TestApp::with(QUICK).await;
    let mut head = connect(&app).await;
    head.write_all(b"GET /healthz HTT").await.unwrap();
    assert!(!rest(&mut head).await.contains("200 OK"));
    let mut body = connect(&app).await;
    let path = "/api/v1/channels/signal/messages";
    let token = app.token("alice", &[Scope::Assert, Scope::Chat], None).await;
    body.write_all(post(path, &token, 100).as_bytes()).await.unwrap();
    body.write_all(b"{").await.unwrap();
    let said = rest(&mut body).await;
    assert!(said.starts_with("HTTP/1.1 408 ") && said.contains("body_too_slow"), "{said}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_body_is_refused_even_without_pauses() {
    let app = TestApp::with(QUICK).await;
    let token = app.token("alice", &[Scope::Assert, Scope::Chat], None).await;
    let stream = connect(&app).await;
    let (mut reading, mut writing) = stream.into_split();
    writing.write_all(post("/api/v1/channels/signal/messages", &token, 10_000).as_bytes()).await.unwrap();
    let dripping = tokio::spawn(async move {
        while writing.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
    let mut said = [0; 12];
    reading.read_exact(&mut said).await.unwrap();
    assert_eq!(&said, b"HTTP/1.1 408");
    drop(reading);
    dripping.abort();
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_or_endless_headers_are_refused() {
    let app = TestApp::start().await;
    let many: String = (0..10_000).map(|number| format!("x-{number}: y\r\n")).collect();
    let long = format!("x-long: {}\r\n", "y".repeat(400_000));
    for headers in [many, long] {
        let mut stream = connect(&app).await;
        let head = format!("GET /healthz HTTP/1.1\r\nhost: x\r\n{headers}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let said = rest(&mut stream).await;
        assert!(said.starts_with("HTTP/1.1 431 "), "{said}");
    }
    assert_eq!(app.get("/metrics", &app.alice).await.0, 200);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_large_body_is_refused_by_header_and_by_size() {
    let app = TestApp::with(QUICK).await;
    let path = "/api/v1/channels/signal/messages";
    let mut stream = connect(&app).await;
    stream.write_all(post(path, &app.alice, 50_000_000).as_bytes()).await.unwrap();
    let said = rest(&mut stream).await;
    assert!(said.starts_with("HTTP/1.1 413 ") && said.contains("body_too_large"), "{said}");
    let token = app.token("alice", &[Scope::Assert, Scope::Chat], None).await;
    let pieces = (0..40).map(|_| Ok::<_, std::io::Error>(vec![b' '; 64 * 1024]));
    let body = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces));
    let request = app.request("POST", path, &token).header("content-type", "application/json").body(body);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 413);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn client_that_writes_first_reads_the_refusal() {
    let app = TestApp::with(QUICK).await;
    for (path, token, status) in [
        ("/api/v1/channels/signal/messages", app.alice.as_str(), "413"),
        ("/openai/v1/chat/completions", "fwd_nobodys", "401"),
    ] {
        let mut stream = connect(&app).await;
        // More than the socket buffers hold.
        let body = vec![b' '; 20_000_000];
        stream.write_all(post(path, token, body.len()).as_bytes()).await.unwrap();
        stream.write_all(&body).await.unwrap();
        let said = rest(&mut stream).await;
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {said}");
        assert!(said.contains("connection: close"), "{path}: {said}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_token_is_refused_before_the_body() {
    let app = TestApp::start().await;
    let mut stream = connect(&app).await;
    let head = post("/api/v1/channels/signal/messages", "fwd_none", 5_000_000);
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut said = [0; 12];
    stream.read_exact(&mut said).await.unwrap();
    assert_eq!(&said, b"HTTP/1.1 401");
    app.stop().await;
}
