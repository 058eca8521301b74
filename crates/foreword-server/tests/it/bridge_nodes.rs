//! Two nodes on one Postgres, and one bridge.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use foreword_core::api_token::Scope;
use foreword_core::store_url::StoreUrl;
use foreword_store::location::Location;
use foreword_testkit::eventually;
use serde_json::json;

use crate::test_app::{CONFIG, TestApp};
use crate::webhook::{SECRET, Webhook};

/// A new database on the test server; `None` if Postgres tests are skipped.
fn database() -> Option<Location> {
    let url = match std::env::var("FOREWORD_TEST_POSTGRES") {
        Ok(skip) if skip == "skip" => return None,
        Ok(url) => url,
        Err(_) => panic!("no Postgres to test with: run `eval \"$(scripts/postgres.sh start)\"` first"),
    };
    let name = format!("bridge_{}", std::process::id());
    let bin = PathBuf::from(std::env::var("FOREWORD_TEST_POSTGRES_BIN").unwrap());
    let made =
        Command::new(bin.join("psql")).args([&url, "-qc", &format!("CREATE DATABASE {name}")]).status();
    assert!(made.unwrap().success());
    let (server, _) = url.rsplit_once('/').unwrap();
    let url = StoreUrl::parse(&format!("{server}/{name}")).unwrap();
    Some(Location::new(&url, &PathBuf::from("/")))
}

async fn node(webhook: &Webhook, location: &Location) -> TestApp {
    let folder = tempfile::tempdir().unwrap();
    let config = format!("{CONFIG}{}", webhook.config());
    std::fs::write(folder.path().join("foreword.yaml"), config).unwrap();
    TestApp::open(folder, location, &[("BRIDGE_SECRET", SECRET)]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_two_nodes_are_delivered_once() {
    let Some(location) = database() else { return };
    let webhook = Webhook::start(&[503, 503]).await;
    let (one, other) = (node(&webhook, &location).await, node(&webhook, &location).await);
    let token = one.token("alice", &[Scope::Chat, Scope::Assert], None).await;
    let path = "/api/v1/channels/signal/messages";
    for number in 0..12 {
        let message = json!({ "channel": format!("signal:{number}"), "sender": number.to_string(),
            "text": format!("!say answer {number}"), "idempotencyKey": format!("m-{number}") });
        // Sent to both nodes, as a bridge does after a broken connection.
        let (first, second) = tokio::join!(
            one.send("POST", path, &token, &message),
            other.send("POST", path, &token, &message)
        );
        assert_eq!((first.0, second.0), (202, 202), "{first:?} {second:?}");
        assert_eq!(first.1["message"], second.1["message"]);
    }
    // Two deliveries are retried because the bridge refused them.
    let delivered = async || {
        let sent = one.store.deliveries(None, 100).await.unwrap();
        if sent.iter().all(|delivery| delivery.delivered_at.is_some()) { Ok(sent) } else { Err(sent) }
    };
    webhook.bodies(14).await;
    eventually(delivered).await;
    let bodies = webhook.bodies(14).await;
    let words: BTreeSet<_> = bodies.iter().map(|body| body["text"].to_string()).collect();
    let ids: BTreeSet<_> = bodies.iter().map(|body| body["id"].to_string()).collect();
    assert_eq!((bodies.len(), ids.len(), words.len()), (14, 12, 12), "{words:?}");
    one.stop().await;
    other.stop().await;
}
