//! What a turn reads first, read before its message is durable.

use foreword_core::history::History;
use foreword_store::epochs::InForce;

use super::made_up::{begin, begun, conversation, done, say};
use crate::contract::contract;
use crate::epochs::proposed;

contract! {
    #[test]
    async fn what_was_read_before_a_turn_began_is_what_it_would_read_now(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        let first = begun(&store, begin("t-1", "c-1")).await;
        store.finish_turn(&first.hold, done("c-1", "r-1")).await.unwrap();
        let before = store.opening(&id).await.unwrap();
        say(&store, &id, "m-2").await;
        let meanwhile = store.opening(&id).await.unwrap();
        let turn = begun(&store, begin("t-2", "c-1")).await;
        let now = store.opening(&id).await.unwrap();
        assert_eq!(now.history, store.history(&id).await.unwrap());
        for early in [before, meanwhile, now.clone()] {
            assert_eq!(early.followed_by(&turn).as_ref(), Some(&now));
        }
    }

    #[test]
    async fn what_was_read_before_somebody_else_wrote_is_of_no_use(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        let before = store.opening(&id).await.unwrap();
        assert_eq!(before.history, History::default());
        say(&store, &id, "m-1").await;
        let elsewhere = store.open_again().await;
        let first = begun(&elsewhere, begin("t-1", "c-1")).await;
        let during = store.opening(&id).await.unwrap();
        elsewhere.finish_turn(&first.hold, done("c-1", "r-1")).await.unwrap();
        say(&store, &id, "m-2").await;
        let turn = begun(&store, begin("t-2", "c-1")).await;
        assert_eq!(before.followed_by(&turn), None);
        assert_eq!(during.followed_by(&turn), None);
    }

    #[test]
    async fn an_epoch_that_was_read_is_used_again_or_followed_by_another(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        let nothing = store.opening(&id).await.unwrap();
        let opened = store.epoch_after(nothing, proposed(&id, "You are kind.")).await.unwrap();
        assert!(matches!(opened, InForce::Opened(_)), "{opened:?}");
        let opening = store.opening(&id).await.unwrap();
        let again = store.epoch_after(opening.clone(), proposed(&id, "You are kind.")).await.unwrap();
        assert_eq!(again, InForce::Reused { epoch: opened.into_epoch(), drifted: vec![] });
        let mut elsewhere = proposed(&id, "You are kind.");
        elsewhere.dependencies.hard.cwd = "/tmp".into();
        let next = store.epoch_after(opening, elsewhere).await.unwrap();
        assert_eq!(next.epoch().info.number, 2);
    }
}
