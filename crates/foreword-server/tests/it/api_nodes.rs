//! Nodes and queue lengths in the status.

use std::time::Duration;

use foreword_store::location::Location;
use foreword_store::nodes::Node;
use serde_json::{Value, json};

use crate::test_app::{CONFIG, TestApp};

async fn nodes(app: &TestApp) -> Vec<Value> {
    let (status, listed) = app.get("/api/v1/status", &app.alice).await;
    assert_eq!(status, 200, "{listed}");
    listed["nodes"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn server_lists_running_nodes_of_its_store() {
    let home = || {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("foreword.yaml"), CONFIG).unwrap();
        folder
    };
    let shared = tempfile::tempdir().unwrap();
    let location = Location::file(shared.path().join("foreword.db"));
    let one = TestApp::open(home(), &location, &[]).await;
    let other = TestApp::open(home(), &location, &[]).await;
    let listed = nodes(&one).await;
    assert_eq!(listed.iter().map(|node| node["here"].as_bool().unwrap()).collect::<Vec<_>>(), [true, false]);
    assert_eq!(listed[1]["listen"], json!(other.url.trim_start_matches("http://")));
    assert!(
        listed.iter().all(|node| node["gone"] == json!(false) && node["version"].is_string()),
        "{listed:?}"
    );
    other.stop().await;
    assert_eq!(nodes(&one).await.len(), 1);
    let now: foreword_core::timestamp::Timestamp = jiff::Timestamp::now().into();
    for (name, hours) in [("node-lost", 1), ("node-forgotten", 25)] {
        let seen_at = now.minus(Duration::from_secs(hours * 3_600));
        let (version, listen) = ("0.0.1".to_owned(), "10.0.0.1:7777".to_owned());
        let node = Node { node: name.parse().unwrap(), version, listen, started_at: seen_at, seen_at };
        one.store.register_node(node).await.unwrap();
    }
    let listed = nodes(&one).await;
    assert_eq!(
        (listed.len(), &listed[0]["node"], &listed[0]["gone"]),
        (2, &json!("node-lost"), &json!(true))
    );
    one.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_messages_are_counted_for_the_owner_only() {
    let app = TestApp::start().await;
    let letter = json!({ "body": "Hello." });
    assert_eq!(app.send("POST", "/api/v1/inbox", &app.bob, &letter).await.0, 201);
    let (_, listed) = app.get("/api/v1/status", &app.alice).await;
    let queues = &listed["queues"];
    assert_eq!((&queues["inbox"], &queues["turns"], &queues["outbox"]), (&json!(1), &json!(0), &json!(0)));
    assert!(queues["deliveries"].is_u64() && queues["events"].is_u64());
    let (_, bobs) = app.get("/api/v1/status", &app.bob).await;
    assert!(bobs.get("nodes").is_none() && bobs.get("queues").is_none(), "{bobs}");
    app.stop().await;
}
