//! The inbox with crashing and concurrent processes: each message is answered once.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use foreword_agent::background::inbox::InboxWorker;
use foreword_core::id::OutboxId;
use foreword_core::sender::{HistoryLimits, InboxState, SenderAddress};
use foreword_core::store_url::StoreUrl;
use foreword_core::turn_journal::TurnState;
use foreword_store::location::Location;
use foreword_store::mailboxes::{FinishedBatch, NewOutboxMessage, Unanswered};
use foreword_testkit::{FakeProvider, Reply, Script, until};
use serde_json::json;
use tokio::runtime::Builder;

use crate::fixture::{Fixture, Node, Setting};
use crate::inbox_fixture::{SOVEREIGN, answers_all, inbox_id, leave, message, outbox, sovereign};

const LEASE: Duration = Duration::from_millis(500);

/// A process that has called `inbox_reply` and dies before its turn has ended.
fn died_after_the_call() -> Fixture {
    let life = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let reply = Reply::tool_call("inbox_reply", json!({ "message": "m-1", "text": "five" }));
    let script = Script::from([reply, Reply::silence()]).then_always(Reply::text("Done."));
    let fixture = life.block_on(Fixture::set(script, Setting::lease(LEASE), SOVEREIGN));
    life.block_on(async {
        leave(&fixture, "m-1", "0xaa", "how much?").await;
        fixture.agent.begin_tick().await.unwrap().unwrap();
        fixture.provider.until(|counts| counts.requests == 2).await;
    });
    life.shutdown_timeout(Duration::from_secs(5));
    fixture
}

async fn assert_conversation_usable(fixture: &Fixture) {
    let node = fixture.another(Setting::lease(LEASE).later(LEASE)).await;
    let ticked = node.agent.tick().await.unwrap();
    assert!(ticked.succeeded(), "{ticked:?}");
    assert_eq!(outbox(&node.store).await, [("0xaa".to_owned(), "five".to_owned())]);
    let message = node.store.inbox_message(&inbox_id("m-1")).await.unwrap();
    assert_eq!((message.state, message.attempts), (InboxState::Consumed, 0));
    node.agent.shut_down().await;
}

#[test]
fn reply_before_a_crash_is_sent_once() {
    let fixture = died_after_the_call();
    let after = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    after.block_on(assert_conversation_usable(&fixture));
}

#[test]
fn crash_between_replies_and_turn_end_is_harmless() {
    let fixture = died_after_the_call();
    let after = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    after.block_on(async {
        let node = fixture.another(Setting::lease(LEASE).later(LEASE)).await;
        let conversation =
            node.store.unfinished_turns("2030-01-01T00:00:00Z".parse().unwrap()).await.unwrap();
        let turn = conversation.into_iter().next().unwrap().id;
        // The last step before the crash: the replies are sent, the turn has not ended.
        let reply = NewOutboxMessage {
            id: OutboxId::new(format!("{turn}-r1")).unwrap(),
            recipient: SenderAddress::new("0xaa").unwrap(),
            body: "five".to_owned(),
            in_reply_to: Some(inbox_id("m-1")),
        };
        let batch = FinishedBatch {
            turn: turn.clone(),
            at: "2026-11-16T09:00:00Z".parse().unwrap(),
            consumed: vec![inbox_id("m-1")],
            replies: vec![reply],
            limits: HistoryLimits::default(),
            unanswered: Unanswered::default(),
        };
        node.store.finish_batch(batch).await.unwrap();
        node.agent.recover().await.unwrap();
        until("the turn is resumed", async || {
            node.store.turn(&turn).await.unwrap().state != TurnState::Running
        })
        .await;
        assert_eq!(outbox(&node.store).await, [("0xaa".to_owned(), "five".to_owned())]);
        node.agent.shut_down().await;
    });
}

#[tokio::test]
async fn inbox_worker_starts_no_autonomous_turn() {
    let fixture = sovereign(answers_all(), "inbox: { gather_seconds: 0 }\n").await;
    let answering = InboxWorker::start(&fixture.agent);
    for number in 1..=3 {
        leave(&fixture, &format!("m-{number}"), "0xaa", "hello").await;
        until("an answer", async || outbox(&fixture.store).await.len() >= number).await;
    }
    answering.stop().await;
    leave(&fixture, "m-4", "0xaa", "too late").await;
    assert_eq!(fixture.store.staged(10).await.unwrap().len(), 1);
    let autonomous = "autonomous".parse().unwrap();
    assert!(fixture.store.conversation(&autonomous).await.unwrap().is_none());
}

/// A new database on the test server; `None` if Postgres tests are skipped.
fn database() -> Option<Location> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let url = match std::env::var("FOREWORD_TEST_POSTGRES") {
        Ok(skip) if skip == "skip" => return None,
        Ok(url) => url,
        Err(_) => panic!("no Postgres to test with: run `eval \"$(scripts/postgres.sh start)\"` first"),
    };
    let name = format!("inbox_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let bin = PathBuf::from(std::env::var("FOREWORD_TEST_POSTGRES_BIN").unwrap());
    let made =
        Command::new(bin.join("psql")).args([&url, "-qc", &format!("CREATE DATABASE {name}")]).status();
    assert!(made.unwrap().success());
    let (server, _) = url.rsplit_once('/').unwrap();
    let url = StoreUrl::parse(&format!("{server}/{name}")).unwrap();
    Some(Location::new(&url, &PathBuf::from("/")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_ticks_on_postgres_answer_each_message_once() {
    let Some(location) = database() else { return };
    let folder = tempfile::tempdir().unwrap();
    let config = format!("{SOVEREIGN}retry: {{ base_delay_ms: 20, max_delay_ms: 100 }}\n");
    std::fs::write(folder.path().join("foreword.yaml"), config).unwrap();
    let provider = FakeProvider::start(answers_all()).unwrap();
    let one = Node::open_at(folder.path(), &provider, Setting::default(), &location).await;
    let other = Node::open_at(folder.path(), &provider, Setting::default(), &location).await;
    for number in 0..60 {
        let new =
            message(&format!("m-{number}"), &format!("0x{}", number % 12), &format!("question {number}"));
        one.store.stage(new).await.unwrap();
    }
    let work = |node: foreword_agent::agent::Agent| async move {
        while let Some(tick) = node.begin_batch().await.unwrap() {
            assert!(node.end_tick(&tick).await.unwrap().succeeded());
        }
    };
    tokio::join!(work(one.agent.clone()), work(other.agent.clone()));
    let sent = outbox(&one.store).await;
    assert_eq!(sent.len(), 60);
    assert_eq!(sent.iter().collect::<BTreeSet<_>>().len(), 60);
    one.agent.shut_down().await;
    other.agent.shut_down().await;
}
