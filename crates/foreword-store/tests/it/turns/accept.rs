//! Accepts a message and begins its turn in one transaction.

use foreword_core::message::{NewMessage, Role};
use foreword_store::messages::{AcceptOutcome, IdempotencyKey};
use foreword_store::turns::{AcceptAndBegin, BeginOutcome, TakeMessages};

use super::fixtures::{begin, begun, conversation, done, message, say};
use crate::contract::contract;

fn both(turn: &str, id: &str, key: Option<&str>) -> AcceptAndBegin {
    let key = key.map(|key| IdempotencyKey { scope: "signal".to_owned(), key: key.to_owned() });
    let message = NewMessage { role: Role::User, ..message("c-1", id) };
    AcceptAndBegin { message, key, begin: begin(turn, "c-1") }
}

contract! {
    #[test]
    async fn message_and_turn_are_committed_together(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        let (accepted, begin) = store.accept_and_begin(both("t-1", "m-1", None)).await.unwrap();
        let Some(BeginOutcome::Begun(turn)) = begin else { panic!("{begin:?}") };
        assert_eq!(turn.messages.len(), 1);
        assert_eq!(turn.messages[0].message.id, accepted.message().message.id);
        let again = store.open_again().await;
        assert_eq!(again.pending(&id).await.unwrap(), []);
        assert_eq!(again.journal(&turn.hold.turn).await.unwrap()[0].step.kind(), "accepted");
        again.finish_turn(&turn.hold, done("c-1", "r-1")).await.unwrap();
    }

    #[test]
    async fn message_waits_behind_others(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        let (_, first) = store.accept_and_begin(both("t-1", "m-1", None)).await.unwrap();
        let Some(BeginOutcome::Begun(first)) = first else { panic!("{first:?}") };
        let (_, second) = store.accept_and_begin(both("t-2", "m-2", None)).await.unwrap();
        assert!(matches!(second, Some(BeginOutcome::Busy { .. })), "{second:?}");
        store.finish_turn(&first.hold, done("c-1", "r-1")).await.unwrap();
        let (_, third) = store.accept_and_begin(both("t-3", "m-3", None)).await.unwrap();
        assert_eq!(third, None, "those who came first are answered first");
        let waiting = store.pending(&id).await.unwrap();
        assert_eq!(waiting.iter().map(|message| message.message.id.as_str()).collect::<Vec<_>>(), ["m-2", "m-3"]);
        let turn = begun(&store, begin("t-4", "c-1")).await;
        assert_eq!(turn.messages.len(), 2);
    }

    #[test]
    async fn repeated_message_begins_one_turn(store: TestStore) {
        conversation(&store, "c-1").await;
        let (_, first) = store.accept_and_begin(both("t-1", "m-1", Some("k"))).await.unwrap();
        let Some(BeginOutcome::Begun(first)) = first else { panic!("{first:?}") };
        store.finish_turn(&first.hold, done("c-1", "r-1")).await.unwrap();
        let (again, none) = store.accept_and_begin(both("t-2", "m-2", Some("k"))).await.unwrap();
        assert!(matches!(&again, AcceptOutcome::Before(message) if message.message.id.as_str() == "m-1"), "{again:?}");
        assert_eq!(none, None);
    }

    #[test]
    async fn accept_and_begin_ignores_take(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        let mut wish = both("t-1", "m-1", None);
        wish.begin.take = TakeMessages::Nothing;
        let (_, begin) = store.accept_and_begin(wish).await.unwrap();
        assert!(matches!(begin, Some(BeginOutcome::Begun(begun)) if begun.messages.len() == 1));
        say(&store, &id, "m-2").await;
        assert_eq!(store.pending(&id).await.unwrap().len(), 1);
    }
}
