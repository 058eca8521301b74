//! A store that fails under a running server, and a server that is killed: the cause is reported, and accepted messages
//! are answered.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use foreword_core::provider::WireDialect;
use foreword_testkit::{FakeProvider, Reply};
use serde_json::{Value, json};

use crate::fail_closed::{token, until};
use crate::program::{Home, PEOPLE};
use crate::server_process::{Serving, request};

fn home() -> Home {
    Home::with(&[("foreword.yaml", &format!("agent: {{ name: Ada, model: offline/echo }}\n{PEOPLE}"))])
}

fn log(home: &Home) -> String {
    fs::read_to_string(home.path().join(".foreword/logs/foreword.log")).unwrap_or_default()
}

#[test]
fn deleted_database_is_reported_everywhere() {
    let home = home();
    let token = token(&home);
    let serving = Serving::start(&home, &[]);
    // The token is cached after this.
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

/// A small disk mounted as `.foreword` of a workspace.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` without the right to mount; foreword-store tests the same error with a limit of SQLite.
    fn mount(home: &Home) -> Option<Self> {
        let folder = home.path().join(".foreword");
        fs::create_dir(&folder).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=8m,mode=700", "none"])
            .arg(&folder)
            .output();
        mounted.is_ok_and(|mounted| mounted.status.success()).then(|| Self(folder))
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }

    fn fill(&self) {
        let mut file = fs::File::create(self.ballast()).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
    }
}

#[test]
fn full_disk_is_reported_without_losing_messages() {
    let home = home();
    let Some(disk) = SmallDisk::mount(&home) else {
        println!("SKIPPED: no small disk can be mounted here");
        return;
    };
    let token = token(&home);
    let serving = Serving::start(&home, &[]);
    let (_, conversation) = serving.post("/api/v1/conversations", &token, &json!({}));
    let path = format!("/api/v1/conversations/{}/messages", conversation["id"].as_str().unwrap());
    let say = |number: usize| {
        let text = format!("number {number} {}", "x".repeat(2_000));
        serving.post(&format!("{path}?wait=false"), &token, &json!({ "text": text })).0
    };
    assert_eq!(say(0), 202);
    disk.fill();
    let mut accepted = vec![0];
    // The write-ahead log may have room for a few more writes.
    let refused = (1..500).find_map(|number| match say(number) {
        202 => {
            accepted.push(number);
            None
        }
        status => Some(status),
    });
    assert_eq!(refused, Some(503));
    let ready = until(&serving, "/readyz", "", |status, _| status == 503);
    assert_eq!(ready["code"], "store_unavailable", "{ready}");
    assert!(serving.wait_for("to write to the database").starts_with("error: "));
    let status = until(&serving, "/api/v1/status", &token, |status, _| status == 200);
    assert_eq!(status["server"]["problems"][0]["code"], "store_full", "{status}");
    assert!(serving.text("/metrics", &token).contains("\nforeword_store_up 0\n"));
    fs::remove_file(disk.ballast()).unwrap();
    until(&serving, "/readyz", "", |status, _| status == 200);
    let last = format!("number {} ", accepted.last().unwrap());
    let answered = |body: &Value| {
        let items = body["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().any(|one| one["role"] == "assistant" && one.to_string().contains(&last))
    };
    until(&serving, &path, &token, |_, body| answered(body));
}

#[test]
fn waiting_client_gets_503_when_the_disk_fills() {
    let home = home();
    let Some(disk) = SmallDisk::mount(&home) else {
        println!("SKIPPED: no small disk can be mounted here");
        return;
    };
    let token = token(&home);
    let serving = Serving::start(&home, &[]);
    let (_, conversation) = serving.post("/api/v1/conversations", &token, &json!({}));
    let id = conversation["id"].as_str().unwrap();
    let path = format!("/api/v1/conversations/{id}/messages");
    let text = format!("!wait 2s\n!say {}", "x".repeat(200_000));
    std::thread::scope(|scope| {
        let (address, body) = (serving.address.clone(), json!({ "text": text }).to_string());
        let post = format!("POST {path}");
        let waiting = scope.spawn({
            let token = &token;
            move || request(&address, &post, token, &body)
        });
        let is_running = |_, body: &Value| body["items"][0]["state"] == "running";
        until(&serving, &format!("/api/v1/turns?session={id}"), &token, is_running);
        disk.fill();
        let (status, problem) = waiting.join().unwrap();
        assert_eq!((status, &problem["code"]), (503, &json!("store_unavailable")), "{problem}");
    });
    fs::remove_file(disk.ballast()).unwrap();
    until(&serving, &path, &token, |_, body| body.to_string().contains("assistant"));
}

#[test]
fn turn_interrupted_by_kill_resumes_at_once() {
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
        // Half of a lease: without detecting the dead process, the turn would wait for the whole lease.
        let limit = Duration::from_secs(15);
        let seen =
            async { tokio::time::timeout(limit, provider.until(|counts| counts.requests >= count)).await };
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
