//! Tests that need internals: a full database, jobs that share a transaction, a panic.

use std::sync::mpsc::{Receiver, Sender, channel};

use foreword_core::timestamp::Timestamp;
use parking_lot::Mutex;
use tempfile::TempDir;

use crate::engine::{Access, Operation, Transaction};
use crate::error::StoreError;
use crate::location::Location;
use crate::store::Store;
use crate::templates::NewTemplate;

fn now() -> Timestamp {
    "2026-11-16T08:00:00Z".parse().unwrap()
}

async fn store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::file(folder.path().join("foreword.db"));
    let store = Store::open(&location, now()).await.unwrap();
    (folder, store)
}

/// The maximum size of the file.
enum Room {
    None,
    Little,
    Plenty,
}

impl Operation for Room {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        let pragma = match self {
            // SQLite uses the current number of pages instead.
            Self::None => "PRAGMA max_page_count = 1",
            Self::Little => "PRAGMA max_page_count = 120",
            Self::Plenty => "PRAGMA max_page_count = 1000000",
        };
        sql.query(pragma, &[]).await.map(|_| ())
    }
}

/// Blocks the writer thread until released.
struct Hold {
    begun: Sender<()>,
    go_on: Mutex<Receiver<()>>,
}

impl Operation for Hold {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, _sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        self.begun.send(()).unwrap();
        let _ = self.go_on.lock().recv();
        Ok(())
    }
}

/// Runs the operations that `queue` submits in one transaction, if possible.
async fn together<T>(store: &Store, queue: impl AsyncFnOnce() -> T) -> T {
    let (begun, has_begun) = channel();
    let (release, go_on) = channel();
    let hold = store.run(Hold { begun, go_on: Mutex::new(go_on) });
    let rest = async {
        // The first poll of `hold` has submitted it already.
        has_begun.recv().unwrap();
        let rest = queue();
        let release = async {
            // `queue` was polled first, so all its jobs are queued by now.
            tokio::task::yield_now().await;
            release.send(()).unwrap();
        };
        tokio::join!(rest, release).0
    };
    let (held, rest) = tokio::join!(hold, rest);
    held.unwrap();
    rest
}

fn template(text: &str) -> NewTemplate {
    NewTemplate::new(text, "alice", now())
}

async fn texts(store: &Store) -> Vec<String> {
    store.template_history().await.unwrap().into_iter().map(|template| template.text).collect()
}

#[tokio::test]
async fn full_database_fails_only_the_oversized_job() {
    let (_folder, store) = store().await;
    store.run(Room::Little).await.unwrap();
    let large = "x".repeat(1 << 20);
    let (first, second, third) = together(&store, async || {
        tokio::join!(
            store.add_template(template("before")),
            store.add_template(template(&large)),
            store.add_template(template("after")),
        )
    })
    .await;
    assert_eq!(first.unwrap().version, 1);
    let error = second.unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert_eq!(third.unwrap().version, 2);
    assert_eq!(texts(&store).await, ["after", "before"]);

    store.run(Room::Plenty).await.unwrap();
    assert_eq!(store.add_template(template(&large)).await.unwrap().version, 3);
    assert_eq!(texts(&store).await, [large.as_str(), "after", "before"]);
}

#[tokio::test]
async fn full_database_fails_all_jobs_without_announcements() {
    let (_folder, store) = store().await;
    let filling = "x".repeat(100_000);
    store.add_template(template(&filling)).await.unwrap();
    store.run(Room::None).await.unwrap();
    let mut changes = store.changes();
    let (one, other) = ("1".repeat(9_000), "2".repeat(9_000));
    let (first, second) = together(&store, async || {
        tokio::join!(store.add_template(template(&one)), store.add_template(template(&other)))
    })
    .await;
    for result in [first, second] {
        assert!(matches!(result, Err(StoreError::Full { .. })), "{result:?}");
    }
    assert!(changes.try_recv().is_err());
    assert_eq!(texts(&store).await, [filling]);
}

#[tokio::test]
async fn queued_writers_run_in_order_and_fail_independently() {
    let (_folder, store) = store().await;
    let wrong = NewTemplate { expected: Some(7), ..template("wrong") };
    let (first, refused, second) = together(&store, async || {
        tokio::join!(
            store.add_template(template("one")),
            store.add_template(wrong),
            store.add_template(template("two")),
        )
    })
    .await;
    assert_eq!((first.unwrap().version, second.unwrap().version), (1, 2));
    assert!(matches!(refused, Err(StoreError::VersionConflict { expected: 7, found: 1, .. })));
}

struct Panic<const WRITES: bool>;

impl<const WRITES: bool> Operation for Panic<WRITES> {
    type Output = ();
    const ACCESS: Access = if WRITES { Access::Write } else { Access::Read };

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        if WRITES {
            sql.execute("DELETE FROM templates", &[]).await?;
        }
        panic!("on purpose");
    }
}

#[tokio::test]
async fn panicking_operation_fails_alone_and_rolls_back() {
    let (_folder, store) = store().await;
    store.add_template(template("one")).await.unwrap();
    // More often than there are threads.
    for _ in 0..6 {
        let error = store.run(Panic::<true>).await.unwrap_err();
        assert!(error.to_string().contains("panicked"), "{error}");
        let error = store.run(Panic::<false>).await.unwrap_err();
        assert!(error.to_string().contains("panicked"), "{error}");
    }
    store.add_template(template("two")).await.unwrap();
    assert_eq!(texts(&store).await, ["two", "one"]);
}

#[tokio::test]
async fn close_finishes_queued_jobs_first() {
    let (folder, store) = store().await;
    let other = store.clone();
    let (written, closed) = together(&store, async || {
        tokio::join!(store.add_template(template("last words")), store.clone().close())
    })
    .await;
    closed.unwrap();
    assert_eq!(written.unwrap().version, 1);
    assert!(other.template().await.is_err());
    assert!(other.add_template(template("too late")).await.is_err());
    other.close().await.unwrap();
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["foreword.db"], "the log was not emptied into the file");
}
