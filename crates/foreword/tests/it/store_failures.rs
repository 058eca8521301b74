//! A store that fails under a running server, and a server that is killed: the cause is seen, and what was accepted is
//! answered.

use std::fs;
use std::time::{Duration, Instant};

use foreword_core::provider::WireDialect;
use foreword_testkit::{FakeProvider, Reply};
use serde_json::json;

use crate::fail_closed::{token, until};
use crate::program::{Home, PEOPLE};
use crate::serving::Serving;

fn home() -> Home {
    Home::with(&[("foreword.yaml", &format!("agent: {{ name: Ada, model: offline/echo }}\n{PEOPLE}"))])
}

fn log(home: &Home) -> String {
    fs::read_to_string(home.path().join(".foreword/logs/foreword.log")).unwrap_or_default()
}

#[test]
fn a_deleted_database_is_seen_everywhere() {
    let home = home();
    let token = token(&home);
    let serving = Serving::start(&home, &[]);
    // The token is known from now on.
    assert_eq!(serving.get("/api/v1/status", &token).0, 200);
    for file in ["foreword.db", "foreword.db-wal", "foreword.db-shm"] {
        let _ = fs::remove_file(home.path().join(".foreword").join(file));
    }
    let ready = until(&serving, "/readyz", "", |status, _| status == 503);
    assert_eq!(ready["code"], "store_unavailable", "{ready}");
    assert!(serving.wait_for("was deleted or replaced").starts_with("error: "));
    let status = until(&serving, "/api/v1/status", &token, |status, _| status == 200);
    assert_eq!(status["server"]["problems"][0]["code"], "store_unreachable", "{status}");
    let metrics = serving.text("/metrics", &token);
    assert!(metrics.contains("\nforeword_store_up 0\n"), "{metrics}");
    assert!(!metrics.contains("foreword_store_errors_total{fault=\"unreachable\"} 0"), "{metrics}");
    let end = Instant::now() + Duration::from_secs(30);
    while !log(&home).contains("\"store_failed\"") {
        assert!(Instant::now() < end, "{}", log(&home));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_turn_cut_off_by_a_kill_goes_on_at_once() {
    let provider =
        FakeProvider::start([Reply::text("Half an ans").then_silence(), Reply::text("The whole answer.")])
            .unwrap();
    let row = provider.provider(WireDialect::OpenAi);
    let config = format!(
        "agent: {{ name: Ada, model: harbour/quay-7b }}\n{PEOPLE}\
         providers:\n  harbour: {{ dialect: openai, base_url: \"{}\", api_key: none }}\n",
        row.base_url
    );
    let home = Home::with(&[("foreword.yaml", &config)]);
    let token = token(&home);
    let mut serving = Serving::start(&home, &[]);
    let (_, conversation) = serving.post("/api/v1/conversations", &token, &json!({}));
    let path = format!("/api/v1/conversations/{}/messages", conversation["id"].as_str().unwrap());
    let (status, _) = serving.post(&format!("{path}?wait=false"), &token, &json!({ "text": "hello" }));
    assert_eq!(status, 202);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let requests = |count| {
        // Half of a lease: without noticing the dead process, the turn would wait for all of it.
        let patience = Duration::from_secs(15);
        let seen =
            async { tokio::time::timeout(patience, provider.until(|counts| counts.requests >= count)).await };
        runtime.block_on(seen).unwrap_or_else(|_| panic!("no request {count}"));
    };
    requests(1);
    serving.tell("-KILL");
    serving.child.wait().unwrap();
    let nodes = home.path().join(".foreword/foreword.db-nodes");
    assert_eq!(fs::read_dir(&nodes).unwrap().count(), 1, "the dead process left its lock file");
    let serving = Serving::start(&home, &[]);
    requests(2);
    until(&serving, &path, &token, |_, body| body.to_string().contains("The whole answer."));
    drop(serving);
}
