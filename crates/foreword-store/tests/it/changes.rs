use std::time::Duration;

use foreword_store::changes::Change;
use foreword_store::templates::NewTemplate;
use tokio::sync::broadcast::Receiver;
use tokio::time::timeout;

use crate::contract::{contract, now};

async fn next(changes: &mut Receiver<Change>) -> Option<Change> {
    timeout(Duration::from_secs(10), changes.recv()).await.ok().and_then(Result::ok)
}

contract! {
    #[test]
    async fn a_change_is_told_once_and_only_when_something_changed(store: TestStore) {
        let mut changes = store.changes();
        store.add_template(NewTemplate::new("one", "alice", now())).await.unwrap();
        assert_eq!(next(&mut changes).await, Some(Change::Template));
        // The same again is no change, and one that fails is none either.
        store.add_template(NewTemplate::new("one", "alice", now())).await.unwrap();
        let refused = NewTemplate { expected: Some(7), ..NewTemplate::new("two", "alice", now()) };
        store.add_template(refused).await.unwrap_err();
        // Longer than it takes to see what other processes write.
        let silence = timeout(Duration::from_millis(2_500), changes.recv()).await;
        assert!(silence.is_err(), "{silence:?}");
    }

    #[test]
    async fn a_change_made_elsewhere_is_told_here(store: TestStore) {
        let elsewhere = store.open_again().await;
        let mut changes = store.changes();
        for text in ["one", "two"] {
            elsewhere.add_template(NewTemplate::new(text, "alice", now())).await.unwrap();
            let told = next(&mut changes).await;
            assert!(matches!(told, Some(Change::Template | Change::Anything)), "{told:?}");
        }
    }

    #[test]
    async fn whoever_listens_does_not_keep_the_store_open(store: TestStore) {
        let other = store.open_again().await;
        let mut changes = other.changes();
        drop(other);
        let closed = timeout(Duration::from_secs(10), changes.recv()).await.unwrap();
        assert!(closed.is_err(), "{closed:?}");
    }
}
