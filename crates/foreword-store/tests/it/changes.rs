use std::time::Duration;

use foreword_store::changes::StoreChange;
use foreword_store::templates::NewTemplate;
use tokio::sync::broadcast::Receiver;
use tokio::time::timeout;

use crate::contract::{contract, now};

async fn next(changes: &mut Receiver<StoreChange>) -> Option<StoreChange> {
    timeout(Duration::from_secs(10), changes.recv()).await.ok().and_then(Result::ok)
}

contract! {
    #[test]
    async fn change_is_announced_once_and_only_if_real(store: TestStore) {
        let mut changes = store.changes();
        store.add_template(NewTemplate::new("one", "alice", now())).await.unwrap();
        assert_eq!(next(&mut changes).await, Some(StoreChange::Template));
        // Writing the same text again is not a change, and neither is a failed write.
        store.add_template(NewTemplate::new("one", "alice", now())).await.unwrap();
        let refused = NewTemplate { expected: Some(7), ..NewTemplate::new("two", "alice", now()) };
        store.add_template(refused).await.unwrap_err();
        // Longer than the interval for polling other processes' writes.
        let silence = timeout(Duration::from_millis(2_500), changes.recv()).await;
        assert!(silence.is_err(), "{silence:?}");
    }

    #[test]
    async fn change_on_another_connection_is_reported(store: TestStore) {
        let elsewhere = store.open_again().await;
        let mut changes = store.changes();
        for text in ["one", "two"] {
            elsewhere.add_template(NewTemplate::new(text, "alice", now())).await.unwrap();
            let next_change = next(&mut changes).await;
            assert!(matches!(next_change, Some(StoreChange::Template | StoreChange::Anything)), "{next_change:?}");
        }
    }

    #[test]
    async fn subscriber_does_not_keep_the_store_open(store: TestStore) {
        let other = store.open_again().await;
        let mut changes = other.changes();
        drop(other);
        let closed = timeout(Duration::from_secs(10), changes.recv()).await.unwrap();
        assert!(closed.is_err(), "{closed:?}");
    }
}
