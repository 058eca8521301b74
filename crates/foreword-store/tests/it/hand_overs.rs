//! The contract of hand-overs.

use foreword_core::hand_over::HandOverRequest;
use foreword_core::message::{Kind, Role};
use foreword_core::turn_journal::Outcome;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::hand_overs::{HandOverOutcome, NewHandOver};
use foreword_store::turns::FinishTurn;

use crate::contract::{contract, now};
use crate::turns::fixtures::{begin, begun, conversation, done, say};

fn wish(to: &str, notice: &str) -> NewHandOver {
    let (user, reason) = (Some("alice".to_owned()), Some("a letter".to_owned()));
    NewHandOver {
        conversation: "c-1".parse().unwrap(),
        to: to.to_owned(),
        wish: HandOverRequest { user, by_agent: false, reason, trust: Trust::Inner },
        notice: notice.parse().unwrap(),
        at: now(),
    }
}

contract! {
    #[test]
    async fn agent_record_and_notice_change_together(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        let turn = begun(&store, begin("t-1", "c-1")).await;
        assert_eq!(store.hand_over(wish("clerk", "n-0")).await.unwrap(), HandOverOutcome::Busy);
        store.finish_turn(&turn.hold, done("c-1", "r-1")).await.unwrap();
        let HandOverOutcome::HandedOver(given) = store.hand_over(wish("clerk", "n-1")).await.unwrap() else { panic!() };
        let again = store.open_again().await;
        assert_eq!(again.conversation(&id).await.unwrap().unwrap().agent, "clerk");
        assert_eq!(again.hand_overs(&id).await.unwrap(), std::slice::from_ref(&given.0));
        let last = again.history(&id).await.unwrap().messages.pop().unwrap();
        assert_eq!((last.message.role, last.message.kind, last.message.trust), (Role::System, Kind::Notice, Trust::Inner));
        assert_eq!((last.seq, given.0.after), (given.1.seq, given.1.seq - 1));
        assert_eq!(store.hand_over(wish("clerk", "n-2")).await.unwrap(), HandOverOutcome::Same);
        let opening = again.turn_inputs(&id).await.unwrap();
        assert_eq!(opening.agent, Some(("clerk".to_owned(), vec![given.0])));
        let missing = NewHandOver { conversation: "c-2".parse().unwrap(), ..wish("clerk", "n-3") };
        assert!(matches!(store.hand_over(missing).await, Err(StoreError::NotFound { .. })));
    }

    #[test]
    async fn requested_hand_over_needs_an_answer(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        for (number, outcome) in [(1, Outcome::Failed), (2, Outcome::Cancelled), (3, Outcome::Done)] {
            say(&store, &id, &format!("m-{number}")).await;
            let turn = begun(&store, begin(&format!("t-{number}"), "c-1")).await;
            store.request_hand_over(&turn.hold.turn, wish("nobody", "n-1")).await.unwrap();
            store.request_hand_over(&turn.hold.turn, wish("clerk", "n-1")).await.unwrap();
            let before = store.conversation(&id).await.unwrap().unwrap().agent;
            assert!(before != "clerk" && store.hand_overs(&id).await.unwrap().is_empty(), "{number}");
            let finish = FinishTurn { outcome, reply: Vec::new(), failure: None, at: now() };
            store.finish_turn(&turn.hold, finish.clone()).await.unwrap();
            // Finishing again is idempotent.
            store.finish_turn(&turn.hold, finish).await.unwrap();
        }
        let all = store.hand_overs(&id).await.unwrap();
        assert_eq!(all.iter().map(|one| (one.number, one.wish.by_agent)).collect::<Vec<_>>(), [(1, true)]);
        assert_eq!(store.conversation(&id).await.unwrap().unwrap().agent, "clerk");
        let late = store.request_hand_over(&"t-3".parse().unwrap(), wish("nobody", "n-2")).await.unwrap_err();
        assert!(matches!(late, StoreError::Refused { .. }), "{late}");
    }

    #[test]
    async fn concurrent_hand_overs_are_serialised(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        let nodes = [store.open_again().await, store.open_again().await];
        let mut tasks = Vec::new();
        for task in 0..8 {
            let (node, new) = (nodes[task % 2].clone(), wish(["clerk", "keeper"][task / 4], &format!("n-{task}")));
            tasks.push(tokio::spawn(async move { node.hand_over(new).await.unwrap() }));
        }
        for task in tasks {
            assert_ne!(task.await.unwrap(), HandOverOutcome::Busy);
        }
        let all = store.hand_overs(&id).await.unwrap();
        assert!(all.windows(2).all(|pair| pair[0].to == pair[1].from && pair[0].number + 1 == pair[1].number));
        assert_eq!(store.conversation(&id).await.unwrap().unwrap().agent, all.last().unwrap().to);
    }
}
