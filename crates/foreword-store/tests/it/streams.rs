use std::time::Duration;

use foreword_core::id::{CallId, ConversationId};
use foreword_core::message::NewMessage;
use foreword_core::turn::OwnerAnswer;
use foreword_prompt::trust::Trust;
use foreword_store::changes::StoreChange;
use foreword_store::conversations::NewConversation;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use foreword_store::streams::{NewStreamItem, StreamItem};
use foreword_store::turns::{BeginTurn, TakeMessages};

use crate::contract::{contract, now};
use crate::conversations::new_message;

fn items(words: &[&str]) -> Vec<NewStreamItem> {
    words.iter().map(|word| NewStreamItem { trust: Trust::Inner, item: format!("\"{word}\"") }).collect()
}

async fn conversation(store: &Store, id: &str) -> ConversationId {
    let id = ConversationId::new(id).unwrap();
    store.create_conversation(NewConversation::new(id.clone(), "Ada", "dm", now())).await.unwrap();
    id
}

fn numbers(items: &[StreamItem]) -> Vec<u64> {
    items.iter().map(|item| item.seq).collect()
}

contract! {
    #[test]
    async fn stream_items_are_numbered_without_gaps(store: TestStore) {
        let (one, other) = (conversation(&store, "c-1").await, conversation(&store, "c-2").await);
        assert_eq!(store.append_stream(&one, items(&["a", "b"]), now()).await.unwrap(), 1);
        assert_eq!(store.append_stream(&other, items(&["z"]), now()).await.unwrap(), 1);
        assert_eq!(store.append_stream(&one, items(&["c"]), now()).await.unwrap(), 3);
        let again = store.open_again().await;
        let page = again.stream(&one, 1, 10).await.unwrap();
        assert_eq!((numbers(&page.items), page.last), (vec![2, 3], 3));
        assert_eq!(page.items[1], StreamItem { seq: 3, trust: Trust::Inner, item: "\"c\"".to_owned() });
        assert_eq!(numbers(&again.stream(&one, 0, 1).await.unwrap().items), [1]);
        assert_eq!(again.stream(&one, 3, 10).await.unwrap().items, []);
    }

    #[test]
    async fn concurrent_writers_never_share_a_number(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        let mut writing = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let (store, id) = (store.open_again().await, id.clone());
            writing.spawn(async move {
                for _ in 0..10 {
                    store.append_stream(&id, items(&["x", "y"]), now()).await.unwrap();
                }
            });
        }
        writing.join_all().await;
        let page = store.stream(&id, 0, 1_000).await.unwrap();
        assert_eq!(numbers(&page.items), (1..=160).collect::<Vec<u64>>());
    }

    #[test]
    async fn conditional_append_checks_the_last_number(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        store.append_stream(&id, items(&["a", "b"]), now()).await.unwrap();
        let end = items(&["end"]).remove(0);
        assert!(!store.append_to_stream_at(&id, end.clone(), 1, now()).await.unwrap());
        assert!(store.append_to_stream_at(&id, end.clone(), 2, now()).await.unwrap());
        assert!(!store.append_to_stream_at(&id, end, 2, now()).await.unwrap());
        assert_eq!(numbers(&store.stream(&id, 0, 9).await.unwrap().items), [1, 2, 3]);
    }

    #[test]
    async fn stream_appends_are_announced(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        let mut changes = store.changes();
        store.append_stream(&id, items(&["a", "b"]), now()).await.unwrap();
        // The notification of the creation may arrive late.
        let mut next = changes.recv().await.unwrap();
        while next == StoreChange::Conversation(id.clone()) {
            next = changes.recv().await.unwrap();
        }
        assert_eq!(next, StoreChange::Stream { conversation: id.clone(), last: 2 });
        store.request_cancel(&id).await.unwrap();
        assert_eq!(changes.recv().await.unwrap(), StoreChange::Cancel(id.clone()));
        let (call, answer) = (CallId::new("call_1").unwrap(), OwnerAnswer::No);
        store.send_answer(&id, call.clone(), answer).await.unwrap();
        assert_eq!(changes.recv().await.unwrap(), StoreChange::Answer { conversation: id, call, answer });
    }

    #[test]
    async fn stream_is_deleted_with_its_conversation(store: TestStore) {
        let nowhere = ConversationId::new("c-none").unwrap();
        let error = store.append_stream(&nowhere, items(&["a"]), now()).await.unwrap_err();
        assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
        let id = conversation(&store, "c-1").await;
        store.append_stream(&id, items(&["a"]), now()).await.unwrap();
        store.delete_conversation(&id).await.unwrap();
        assert!(matches!(store.stream(&id, 0, 1).await, Err(StoreError::NotFound { .. })));
    }

    #[test]
    async fn pruned_stream_keeps_its_numbers(store: TestStore) {
        let (id, later) = (conversation(&store, "c-1").await, now().plus(Duration::from_secs(60)));
        store.append_stream(&id, items(&["a", "b", "c"]), now()).await.unwrap();
        store.append_stream(&id, items(&["d"]), later).await.unwrap();
        assert_eq!(store.prune_streams(later, 2).await.unwrap(), 2);
        assert_eq!(numbers(&store.stream(&id, 0, 10).await.unwrap().items), [3, 4]);
        assert_eq!(store.prune_streams(later, 2).await.unwrap(), 1);
        assert_eq!(store.prune_streams(later, 2).await.unwrap(), 0);
        assert_eq!(store.prune_streams(later.plus(Duration::from_secs(1)), 9).await.unwrap(), 1);
        let page = store.stream(&id, 0, 10).await.unwrap();
        assert_eq!((page.items, page.last), (Vec::new(), 4));
        assert_eq!(store.append_stream(&id, items(&["e"]), later).await.unwrap(), 5);
    }

    #[test]
    async fn running_turns_items_are_not_pruned(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        store.append_stream(&id, items(&["a"]), now()).await.unwrap();
        let begin = BeginTurn {
            turn: "t-1".parse().unwrap(),
            conversation: id.clone(),
            node: "node-a".parse().unwrap(),
            trust: Trust::Full,
            take: TakeMessages::Nothing,
            lease: Duration::from_secs(30),
            now: now(),
        };
        store.begin_turn(begin).await.unwrap();
        assert_eq!(store.prune_streams(now().plus(Duration::from_secs(60)), 9).await.unwrap(), 0);
    }

    #[test]
    async fn author_with_a_message_has_written(store: TestStore) {
        let (id, other) = (conversation(&store, "c-1").await, conversation(&store, "c-2").await);
        assert!(!store.has_written(&id, "bob").await.unwrap());
        let new = NewMessage { author: Some("bob".to_owned()), ..new_message(&id, "m-1", "hello") };
        store.accept(new, None).await.unwrap();
        assert!(store.has_written(&id, "bob").await.unwrap());
        assert!(!store.has_written(&id, "bo").await.unwrap());
        assert!(!store.has_written(&other, "bob").await.unwrap());
    }
}
