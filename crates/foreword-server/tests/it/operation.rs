//! Health checks and metrics.

use foreword_core::api_token::Scope;
use foreword_server::server::Server;
use foreword_store::location::Location;

use foreword_core::event::{Event, EventType};
use foreword_core::timestamp::Timestamp;
use foreword_testkit::{FakeProvider, Reply, Script, until};
use serde_json::json;

use crate::proxy_observe::{COMPLETIONS, MESSAGES, app_before, post};
use crate::test_app::{CONFIG, LEASE, TestApp, parts_with_lease, read};

#[tokio::test(flavor = "multi_thread")]
async fn server_is_ready_from_recovery_until_stop() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("foreword.yaml"), CONFIG).unwrap();
    let location = Location::file(folder.path().join(".foreword/foreword.db"));
    let parts = parts_with_lease(folder.path(), &location, &[], LEASE).await;
    let server = Server::start(parts, "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask = async |path: &str| {
        let (status, body) = read(client.get(format!("{}{path}", server.url())).send().await.unwrap()).await;
        (status, body["code"].as_str().unwrap_or("ready").to_owned())
    };
    assert_eq!(ask("/readyz").await, (503, "starting".to_owned()));
    assert_eq!(ask("/healthz").await.0, 200);
    server.ready();
    assert_eq!(ask("/readyz").await, (200, "ready".to_owned()));
    // An open connection is served to the end of its request.
    let open = client.get(format!("{}/readyz", server.url()));
    server.start_draining();
    if let Ok(answer) = open.send().await {
        assert_eq!(answer.status(), 503);
    }
    server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_server_refuses_requests_until_its_turns_end() {
    let app = TestApp::start().await;
    let (_, made) = app.send("POST", "/api/v1/conversations", &app.alice, &json!({})).await;
    let say = format!("/api/v1/conversations/{}/messages?wait=false", made["id"].as_str().unwrap());
    let endless = json!({ "text": "!hang" });
    assert_eq!(app.send("POST", &say, &app.alice, &endless).await.0, 202);
    let (url, agent) = (app.url.clone(), app.agent.clone());
    // Each on its own connection.
    let ask = async |path: &str| {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Some(read(client.get(format!("{url}{path}")).send().await.ok()?).await)
    };
    let stopping = tokio::spawn(app.stop());
    until("it is stopping", async || ask("/readyz").await.unwrap().0 == 503).await;
    for path in ["/readyz", "/api/v1/status"] {
        let (status, problem) = ask(path).await.unwrap();
        assert_eq!((status, &problem["code"]), (503, &json!("stopping")), "{path}");
    }
    assert_eq!(ask("/healthz").await.unwrap().0, 200);
    // The page's files are served, so that an open page can load its parts and show the state.
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let page = client.get(format!("{url}/")).send().await.unwrap();
    assert_eq!(page.status(), 200);
    assert!(page.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
    let missing = client.get(format!("{url}/assets/absent.js")).send().await.unwrap();
    assert_eq!(missing.status(), 404);
    agent.cancel(&made["id"].as_str().unwrap().parse().unwrap());
    stopping.await.unwrap();
    assert!(ask("/readyz").await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_counted_by_route_not_path() {
    let app = TestApp::start().await;
    app.get("/nothing/secret-of-alice", &app.alice).await;
    app.get("/metrics", &app.alice).await;
    let text = app.get("/metrics", &app.alice).await.1;
    let text = text.as_str().unwrap();
    for line in [
        "foreword_http_requests_total{route=\"/metrics\",method=\"GET\",status=\"2xx\"} 1\n",
        "foreword_http_requests_total{route=\"none\",method=\"GET\",status=\"4xx\"} 1\n",
        "foreword_http_requests_running 1\n",
        "foreword_websocket_clients 0\n",
        "foreword_proxy_overhead_seconds_bucket{dialect=\"openai\",le=\"+Inf\"} 0\n",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert!(!text.contains("secret-of-alice") && !text.contains("alice"), "{text}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn proxy_responses_are_counted_for_every_status() {
    let fake = FakeProvider::start(Script::from([Reply::text("hi"), Reply::status(429)])).unwrap();
    let app = app_before(&fake, "proxy: { max_retries: 0 }\n").await;
    let body = r#"{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}"#;
    let ask =
        async |path: &str, token: &str| post(&app, path, token, body).send().await.unwrap().status().as_u16();
    assert_eq!(ask(MESSAGES, &app.alice).await, 200);
    assert_eq!(ask(MESSAGES, &app.alice).await, 429);
    assert_eq!(ask(MESSAGES, "fwd_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa").await, 401);
    drop(fake);
    assert_eq!(ask(COMPLETIONS, &app.alice).await, 502);
    let text = app.get("/metrics", &app.alice).await.1;
    let counted: Vec<&str> = text
        .as_str()
        .unwrap()
        .lines()
        .filter(|line| line.starts_with("foreword_proxy_requests_total{"))
        .collect();
    let expected = [
        r#"foreword_proxy_requests_total{dialect="anthropic",mode="none",status="4xx"} 1"#,
        r#"foreword_proxy_requests_total{dialect="anthropic",mode="observe",status="2xx"} 1"#,
        r#"foreword_proxy_requests_total{dialect="anthropic",mode="observe",status="4xx"} 1"#,
        r#"foreword_proxy_requests_total{dialect="openai",mode="observe",status="5xx"} 1"#,
    ];
    assert_eq!(counted, expected);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unavailable_store_makes_the_server_unready() {
    let app = TestApp::start().await;
    assert_eq!(app.get("/readyz", "").await.0, 200);
    app.store.clone().close().await.unwrap();
    let (status, problem) = app.get("/readyz", "").await;
    assert_eq!((status, &problem["code"]), (503, &"store_unavailable".into()), "{problem}");
    assert_eq!(app.get("/healthz", "").await.0, 200, "nobody is to restart it for that");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_with_a_blocked_event_queue_is_not_ready() {
    let app = TestApp::start().await;
    // The writer blocks the event queue.
    let path = app.folder.path().join(".foreword/foreword.db");
    let lock = rusqlite::Connection::open(path).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let event = || Event::new(EventType::ApiCall, Timestamp::from_micros(1_800_000_000_000_000));
    let mut lines = (0, String::new());
    for _ in 0..100 {
        (0..1_000).for_each(|_| app.events.record(event()));
        let (status, problem) = app.get("/readyz", "").await;
        lines = (status, problem["code"].as_str().unwrap_or_default().to_owned());
        // Before the queue is full, the write probe has to wait.
        if lines.1 == "events_full" {
            break;
        }
    }
    assert_eq!(lines, (503, "events_full".to_owned()));
    lock.execute_batch("ROLLBACK").unwrap();
    until("it is ready again", async || app.get("/readyz", "").await.0 == 200).await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_match_their_documentation() {
    let app = TestApp::start().await;
    let text = app.get("/metrics", &app.alice).await.1;
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/");
    let page = |name: &str| std::fs::read_to_string(format!("{root}{name}")).unwrap();
    let (own, all) = (page("operations.md"), page("operations.md") + &page("telemetry.md"));
    let names: Vec<&str> =
        text.as_str().unwrap().lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let names: Vec<&str> = names.iter().map(|line| line.split(' ').next().unwrap()).collect();
    for name in &names {
        assert!(all.contains(&format!("| `{name}` |")), "{name} is not explained");
    }
    let explained = own.lines().filter_map(|line| line.strip_prefix("| `foreword_")?.split('`').next());
    for name in explained {
        assert!(names.contains(&format!("foreword_{name}").as_str()), "{name} is not counted");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_require_observe_scope_and_ownership() {
    let app = TestApp::start().await;
    let token = app.token("alice", &[Scope::Chat], None).await;
    for (token, code) in [(&token, "scope_missing"), (&app.bob, "owner_only")] {
        let (status, problem) = app.get("/metrics", token).await;
        assert_eq!((status, &problem["code"]), (403, &code.into()));
    }
    app.stop().await;
}
