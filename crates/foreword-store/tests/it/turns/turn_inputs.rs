//! The inputs of a turn, read before its message is durable.

use foreword_core::history::History;
use foreword_store::epochs::CurrentEpoch;

use super::fixtures::{begin, begun, conversation, done, say};
use crate::contract::contract;
use crate::epochs::proposed;

contract! {
    #[test]
    async fn inputs_read_early_equal_inputs_read_later(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        let first = begun(&store, begin("t-1", "c-1")).await;
        store.finish_turn(&first.hold, done("c-1", "r-1")).await.unwrap();
        let before = store.turn_inputs(&id).await.unwrap();
        say(&store, &id, "m-2").await;
        let meanwhile = store.turn_inputs(&id).await.unwrap();
        let turn = begun(&store, begin("t-2", "c-1")).await;
        let now = store.turn_inputs(&id).await.unwrap();
        assert_eq!(now.history, store.history(&id).await.unwrap());
        for early in [before, meanwhile, now.clone()] {
            assert_eq!(early.followed_by(&turn).as_ref(), Some(&now));
        }
    }

    #[test]
    async fn inputs_read_before_another_write_are_discarded(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        let before = store.turn_inputs(&id).await.unwrap();
        assert_eq!(before.history, History::default());
        say(&store, &id, "m-1").await;
        let elsewhere = store.open_again().await;
        let first = begun(&elsewhere, begin("t-1", "c-1")).await;
        let during = store.turn_inputs(&id).await.unwrap();
        elsewhere.finish_turn(&first.hold, done("c-1", "r-1")).await.unwrap();
        say(&store, &id, "m-2").await;
        let turn = begun(&store, begin("t-2", "c-1")).await;
        assert_eq!(before.followed_by(&turn), None);
        assert_eq!(during.followed_by(&turn), None);
    }

    #[test]
    async fn epoch_from_inputs_is_reused_or_replaced(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        let nothing = store.turn_inputs(&id).await.unwrap();
        let opened = store.epoch_after(nothing, proposed(&id, "You are kind.")).await.unwrap();
        assert!(matches!(opened, CurrentEpoch::Opened(_)), "{opened:?}");
        let opening = store.turn_inputs(&id).await.unwrap();
        let again = store.epoch_after(opening.clone(), proposed(&id, "You are kind.")).await.unwrap();
        assert_eq!(again, CurrentEpoch::Reused { epoch: opened.into_epoch(), drifted: vec![] });
        let mut elsewhere = proposed(&id, "You are kind.");
        elsewhere.dependencies.hard.cwd = "/tmp".into();
        let next = store.epoch_after(opening, elsewhere).await.unwrap();
        assert_eq!(next.epoch().info.number, 2);
    }
}
