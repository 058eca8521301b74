use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foreword_store::changes::StoreChange;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use foreword_store::templates::{NewTemplate, TemplateRecord};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::proxy::{AtCommit, Proxy};
use super::server::{PrivatePostgres, Stop, open, within};
use crate::contract::now;

fn new(text: impl Into<String>) -> NewTemplate {
    NewTemplate::new(text, "alice", now())
}

/// A write that conflicts if it is made twice.
fn first(text: &str) -> NewTemplate {
    NewTemplate { expected: Some(0), ..new(text) }
}

/// Writes distinct templates in a loop until stopped. No write may fail.
struct Writers {
    stop: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<Vec<TemplateRecord>>>,
}

impl Writers {
    fn start(store: &Store) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let write = |writer: usize| {
            let (store, stop) = (store.clone(), Arc::clone(&stop));
            async move {
                let mut acknowledged = Vec::new();
                while !stop.load(Ordering::SeqCst) {
                    let text = format!("{writer}: {}", acknowledged.len());
                    acknowledged.push(store.add_template(new(text)).await.unwrap());
                }
                acknowledged
            }
        };
        let tasks = (0..6).map(|writer| tokio::spawn(write(writer))).collect();
        Self { stop, tasks }
    }

    /// The stored templates are exactly the acknowledged ones, each once.
    async fn check(self, store: &Store) {
        self.stop.store(true, Ordering::SeqCst);
        let mut acknowledged = Vec::new();
        for task in self.tasks {
            acknowledged.extend(task.await.unwrap());
        }
        acknowledged.sort_by_key(|template| std::cmp::Reverse(template.version));
        let stored = store.template_history().await.unwrap();
        assert!(stored.len() > 20, "hardly anything was written: {}", stored.len());
        assert_eq!(stored, acknowledged);
    }
}

#[test]
fn server_restart_loses_nothing_and_is_transparent() {
    let Some(server) = PrivatePostgres::start() else { return };
    within(120, async {
        let store = server.open().await;
        let writers = Writers::start(&store);
        for how in [Stop::Fast, Stop::Immediate, Stop::Immediate, Stop::Fast] {
            sleep(Duration::from_millis(300)).await;
            tokio::task::block_in_place(|| {
                server.stop(how);
                server.start_again();
            });
        }
        sleep(Duration::from_millis(300)).await;
        writers.check(&store).await;
    });
}

#[test]
fn repeated_connection_losses_lose_nothing() {
    let Some(server) = PrivatePostgres::start() else { return };
    within(120, async {
        let proxy = Proxy::to(server.port).await;
        let store = open(&PrivatePostgres::url_at(proxy.port, "")).await.unwrap();
        let writers = Writers::start(&store);
        for pause in 0..25 {
            sleep(Duration::from_millis(30 + 37 * pause % 150)).await;
            proxy.cut();
        }
        writers.check(&store).await;
    });
}

#[test]
fn write_with_a_lost_commit_is_made_exactly_once() {
    let Some(server) = PrivatePostgres::start() else { return };
    within(120, async {
        for trap in [AtCommit::LoseAnswer, AtCommit::LoseCommit, AtCommit::StallAnswer, AtCommit::StallCommit]
        {
            let proxy = Proxy::to(server.port).await;
            let url = PrivatePostgres::url_at(proxy.port, "answer_timeout=2");
            let store = open(&url).await.unwrap();
            let seen = store.template().await.unwrap().map_or(0, |template| template.version);
            sleep(Duration::from_millis(100)).await;
            proxy.at_commit(trap);
            let expected = NewTemplate { expected: Some(seen), ..new(format!("{trap:?}")) };
            let written = store.add_template(expected).await;
            assert!(proxy.has_sprung());
            let written = written.unwrap_or_else(|error| panic!("{trap:?}: {error}"));
            assert_eq!(written.version, seen + 1, "{trap:?}");
            assert_eq!(store.template().await.unwrap(), Some(written), "{trap:?}");
        }
    });
}

#[test]
fn hanging_node_delays_others_briefly() {
    let Some(server) = PrivatePostgres::start() else { return };
    within(60, async {
        let proxy = Proxy::to(server.port).await;
        let hanging = open(&PrivatePostgres::url_at(proxy.port, "answer_timeout=12")).await.unwrap();
        sleep(Duration::from_millis(100)).await;
        proxy.at_commit(AtCommit::StallCommit);
        let write = tokio::spawn(async move { hanging.add_template(new("hanging")).await });
        while !proxy.has_sprung() {
            sleep(Duration::from_millis(10)).await;
        }
        let begun = Instant::now();
        assert_eq!(server.open().await.add_template(first("one")).await.unwrap().version, 1);
        // It was delayed, but not until the hanging node gave up.
        assert!(begun.elapsed() > Duration::from_secs(1), "{:?}", begun.elapsed());
        assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
        assert_eq!(write.await.unwrap().unwrap().version, 2);
    });
}

#[test]
fn unverifiable_write_is_reported_as_uncertain() {
    let Some(server) = PrivatePostgres::start() else { return };
    within(60, async {
        let proxy = Proxy::to(server.port).await;
        let store = open(&PrivatePostgres::url_at(proxy.port, "answer_timeout=2")).await.unwrap();
        store.template().await.unwrap();
        sleep(Duration::from_millis(100)).await;
        proxy.at_commit(AtCommit::LoseAnswer);
        proxy.refuse(true);
        let error = store.add_template(first("one")).await.unwrap_err();
        assert!(matches!(error, StoreError::Uncertain { .. }), "{error}");
        proxy.refuse(false);
        assert_eq!(store.template().await.unwrap().unwrap().text, "one");
    });
}

#[test]
fn silent_connection_times_out() {
    let Some(server) = PrivatePostgres::start() else { return };
    within(60, async {
        let proxy = Proxy::to(server.port).await;
        let store = open(&PrivatePostgres::url_at(proxy.port, "answer_timeout=2")).await.unwrap();
        store.template().await.unwrap();
        proxy.stall();
        for write in [true, false] {
            let begun = Instant::now();
            let error = if write {
                store.add_template(new("one")).await.unwrap_err()
            } else {
                store.template().await.unwrap_err()
            };
            assert!(matches!(error, StoreError::Disconnected { .. }), "{error}");
            assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
        }
    });
}

#[test]
fn unreachable_server_times_out_and_recovers() {
    let Some(server) = PrivatePostgres::start() else { return };
    within(60, async {
        let store = open(&server.url("answer_timeout=2")).await.unwrap();
        tokio::task::block_in_place(|| server.stop(Stop::Fast));
        let begun = Instant::now();
        let error = store.add_template(new("one")).await.unwrap_err();
        assert!(matches!(error, StoreError::Disconnected { .. }), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
        tokio::task::block_in_place(|| server.start_again());
        assert_eq!(store.add_template(first("one")).await.unwrap().version, 1);
    });
}

#[test]
fn changes_are_reported_after_a_restart() {
    let Some(server) = PrivatePostgres::start() else { return };
    within(60, async {
        let (store, elsewhere) = (server.open().await, server.open().await);
        let mut changes = store.changes();
        elsewhere.add_template(new("one")).await.unwrap();
        let mut next = async || timeout(Duration::from_secs(20), changes.recv()).await.unwrap().unwrap();
        assert_eq!(next().await, StoreChange::Template);
        tokio::task::block_in_place(|| {
            server.stop(Stop::Fast);
            server.start_again();
        });
        assert_eq!(next().await, StoreChange::Anything);
        elsewhere.add_template(new("two")).await.unwrap();
        assert_eq!(next().await, StoreChange::Template);
    });
}
