//! Runs each test of the contract on both engines. `contract! { #[test] async fn name(store: TestStore) { … } }`
//! expands to `sqlite::name` and `postgres::name`.

use std::env;
use std::future::Future;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use foreword_core::timestamp::Timestamp;
use foreword_store::location::Location;
use foreword_store::store::Store;
use tempfile::TempDir;

/// A store of its own for one test. Derefs to [`Store`].
#[derive(Debug)]
pub(crate) struct TestStore {
    store: Store,
    location: Location,
    // Deleted with the test.
    _folder: Option<TempDir>,
}

impl TestStore {
    /// Opens the same database again, as another process would.
    pub(crate) async fn open_again(&self) -> Store {
        Store::open(&self.location, now()).await.unwrap()
    }

    pub(crate) fn location(&self) -> &Location {
        &self.location
    }
}

impl Deref for TestStore {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

/// A fixed time.
pub(crate) fn now() -> Timestamp {
    at("2026-11-16T08:00:00Z")
}

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A runtime with two threads, so that races can occur.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

pub(crate) fn on_sqlite<F: Future<Output = ()>>(test: impl FnOnce(TestStore) -> F) {
    runtime().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::file(folder.path().join(".foreword/foreword.db"));
        let store = Store::open(&location, now()).await.unwrap();
        test(TestStore { store, location, _folder: Some(folder) }).await;
    });
}

/// Creates a database on the test server for one test. [`drop_database`] drops it.
pub(crate) async fn create_database(server: &str) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("test_{}_{number}", std::process::id());
    // An earlier process with the same id may have left one behind.
    administer(server, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
    administer(server, &format!("CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")).await;
    let (address, options) = server.split_once('?').unwrap_or((server, ""));
    let (address, _) = address.rsplit_once('/').unwrap();
    format!("{address}/{name}?{options}")
}

pub(crate) async fn drop_database(server: &str, database: &str) {
    let name = database.split('?').next().and_then(|address| address.rsplit('/').next()).unwrap();
    administer(server, &format!("DROP DATABASE {name} WITH (FORCE)")).await;
}

/// Runs a statement as the administrator.
pub(crate) async fn administer(server: &str, sql: &str) {
    let (client, connection) = tokio_postgres::connect(server, tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    client.batch_execute(sql).await.unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
}

/// The address of the test server; `None` if Postgres tests are disabled.
pub(crate) fn server_under_test() -> Option<String> {
    match env::var("FOREWORD_TEST_POSTGRES").ok().as_deref() {
        Some("skip") => {
            println!("SKIPPED: FOREWORD_TEST_POSTGRES=skip");
            None
        }
        Some(address) if !address.is_empty() => Some(address.to_owned()),
        _ => panic!(
            "no Postgres to test with: run `eval \"$(scripts/postgres.sh start)\"` first and \
             `scripts/postgres.sh stop` afterwards, or `make test`, which does both; \
             `FOREWORD_TEST_POSTGRES=skip` leaves these tests out"
        ),
    }
}

pub(crate) fn on_postgres<F: Future<Output = ()>>(test: impl FnOnce(TestStore) -> F) {
    let Some(server) = server_under_test() else { return };
    let runtime = runtime();
    let database = runtime.block_on(create_database(&server));
    let location = Location::parse(&database, Path::new("/")).unwrap();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async {
            let store = Store::open(&location, now()).await.unwrap();
            test(TestStore { store, location, _folder: None }).await;
        });
    }));
    runtime.block_on(drop_database(&server, &database));
    ended.unwrap_or_else(|panic| resume_unwind(panic));
}

macro_rules! contract {
    ($($(#[doc = $doc:literal])* #[test] async fn $name:ident($store:ident: TestStore) $body:block)*) => {
        $($(#[doc = $doc])* async fn $name($store: $crate::contract::TestStore) $body)*

        mod sqlite {
            $(#[test]
            fn $name() {
                $crate::contract::on_sqlite(super::$name);
            })*
        }

        mod postgres {
            $(#[test]
            fn $name() {
                $crate::contract::on_postgres(super::$name);
            })*
        }
    };
}
pub(crate) use contract;
