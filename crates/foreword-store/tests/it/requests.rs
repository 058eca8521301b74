use std::time::Duration;

use foreword_core::message::Usage;
use foreword_core::timestamp::Timestamp;
use foreword_store::requests::LastRequest;

use crate::contract::{contract, now};

fn later(seconds: u64) -> Timestamp {
    now().plus(Duration::from_secs(seconds))
}

fn request(thread: &str, at: Timestamp, shape: &str) -> LastRequest {
    let usage = Some(Usage { input: 12, cache_read: 900, ..Usage::default() });
    let (thread, shape) = (thread.to_owned(), shape.to_owned());
    LastRequest { thread, at, shape, epoch: Some(2), usage, answer_id: Some("msg_1".to_owned()) }
}

contract! {
    #[test]
    async fn last_request_replaces_the_previous_one(store: TestStore) {
        assert_eq!(store.last_request("c-1").await.unwrap(), None);
        store.save_request(&request("c-1", now(), "one")).await.unwrap();
        store.save_request(&request("c-2", now(), "other")).await.unwrap();
        store.save_request(&request("c-1", later(1), "two")).await.unwrap();
        let again = store.open_again().await;
        assert_eq!(again.last_request("c-1").await.unwrap(), Some(request("c-1", later(1), "two")));
        assert_eq!(again.last_request("c-2").await.unwrap(), Some(request("c-2", now(), "other")));
    }

    #[test]
    async fn later_request_of_another_node_stays(store: TestStore) {
        store.save_request(&request("c-1", later(5), "late")).await.unwrap();
        store.save_request(&request("c-1", now(), "early")).await.unwrap();
        assert_eq!(store.last_request("c-1").await.unwrap().unwrap().shape, "late");
    }

    #[test]
    async fn first_caller_sets_the_shape_key(store: TestStore) {
        assert_eq!(store.shape_key("aa", now()).await.unwrap(), "aa");
        assert_eq!(store.open_again().await.shape_key("bb", later(1)).await.unwrap(), "aa");
    }

    #[test]
    async fn old_requests_are_pruned(store: TestStore) {
        for (thread, at) in [("c-1", now()), ("c-2", later(10)), ("c-3", later(20))] {
            store.save_request(&request(thread, at, "x")).await.unwrap();
        }
        assert_eq!(store.prune_requests(later(15)).await.unwrap(), 2);
        assert_eq!(store.last_request("c-1").await.unwrap(), None);
        assert!(store.last_request("c-3").await.unwrap().is_some());
    }
}
