//! Runs each test of the contract on both engines. `contract! { #[test] async fn name(store: TestStore) { … } }` makes
//! `sqlite::name` and `postgres::name` of it.

use std::future::Future;
use std::ops::Deref;

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

/// A runtime with two threads, so that what can go wrong at once does.
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

macro_rules! contract {
    ($($(#[doc = $doc:literal])* #[test] async fn $name:ident($store:ident: TestStore) $body:block)*) => {
        $($(#[doc = $doc])* async fn $name($store: $crate::contract::TestStore) $body)*

        mod sqlite {
            $(#[test]
            fn $name() {
                $crate::contract::on_sqlite(super::$name);
            })*
        }
    };
}
pub(crate) use contract;
