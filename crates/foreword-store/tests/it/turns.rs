mod accept;
mod crash;
pub(crate) mod fixtures;
mod list;
mod turn_inputs;

use foreword_core::failure::Failure;
use foreword_core::id::{CallId, TurnId};
use foreword_core::message::Kind;
use foreword_core::retry::ErrorCategory;
use foreword_core::turn_journal::{JournalStep, Outcome, PromptBuilt, ToolResult, TurnState};
use foreword_prompt::text::ContentHash;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::turns::{BeginOutcome, FinishTurn, NewStep, TakeMessages, TurnLease};
use serde_json::json;

use crate::contract::{at, contract, now};
use fixtures::{HOUR, answer, begin, begun, conversation, done, message, say, started, step, take_over};

contract! {
    #[test]
    async fn turn_takes_pending_messages_and_replies(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        say(&store, &id, "m-2").await;
        let turn = begun(&store, begin("t-1", "c-1")).await;
        let taken: Vec<&str> = turn.messages.iter().map(|message| message.message.id.as_str()).collect();
        assert_eq!(taken, ["m-1", "m-2"]);
        assert!(turn.messages.iter().all(|message| message.message.turn.as_ref() == Some(&turn.hold.turn)));
        assert_eq!(store.pending(&id).await.unwrap(), []);
        store.record_step(&turn.hold, step(2, answer())).await.unwrap();
        let reply = store.finish_turn(&turn.hold, done("c-1", "r-1")).await.unwrap();
        assert_eq!(reply[0].message.turn.as_ref(), Some(&turn.hold.turn));

        let again = store.open_again().await;
        let ended = again.turn(&turn.hold.turn).await.unwrap();
        assert_eq!((ended.state, ended.ended_at), (TurnState::Ended(Outcome::Done), Some(now())));
        let steps = again.journal(&turn.hold.turn).await.unwrap();
        let kinds: Vec<&str> = steps.iter().map(|step| step.step.kind()).collect();
        assert_eq!(kinds, ["accepted", "call", "replied"]);
        assert_eq!(again.history(&id).await.unwrap().messages.last(), Some(&reply[0]));
        assert_eq!(again.begin_turn(begin("t-2", "c-1")).await.unwrap(), BeginOutcome::NothingToTake);
    }

    #[test]
    async fn one_of_many_concurrent_callers_begins_the_turn(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        let nodes = [store.open_again().await, store.open_again().await];
        let mut fence = 0;
        for round in 0..5 {
            say(&store, &id, &format!("m-{round}")).await;
            let mut tasks = Vec::new();
            for task in 0..12 {
                let (node, new) = (nodes[task % 2].clone(), begin(&format!("t-{round}-{task}"), "c-1"));
                tasks.push(tokio::spawn(async move { node.begin_turn(new).await.unwrap() }));
            }
            let (mut winners, mut busy) = (Vec::new(), Vec::new());
            for task in tasks {
                match task.await.unwrap() {
                    BeginOutcome::Begun(begun) => winners.push(begun),
                    BeginOutcome::Busy { turn, .. } => busy.push(turn),
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!((winners.len(), busy.len()), (1, 11));
            assert!(busy.iter().all(|turn| *turn == winners[0].hold.turn));
            assert!(winners[0].hold.fence > fence, "{fence}");
            fence = winners[0].hold.fence;
            store.finish_turn(&winners[0].hold, done("c-1", &format!("r-{round}"))).await.unwrap();
        }
    }

    #[test]
    async fn node_presumed_dead_cannot_write(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        let old = begun(&store, fixtures::dying("t-1", "c-1")).await.hold;
        let new = take_over(&store, &old.turn, "node-b").await.unwrap().hold;
        assert!(new.fence > old.fence);

        let lost = [
            store.renew_lease(&old, now()).await.unwrap_err(),
            store.save_turn(&old, json!({}), now()).await.unwrap_err(),
            store.record_step(&old, step(2, answer())).await.unwrap_err(),
            store.finish_turn(&old, done("c-1", "r-1")).await.unwrap_err(),
        ];
        for error in lost {
            assert!(matches!(&error, StoreError::LeaseLost { holder: Some(node), .. } if node == "node-b"), "{error}");
        }
        assert_eq!(store.journal(&old.turn).await.unwrap().len(), 1);
        assert_eq!(store.history(&id).await.unwrap().messages.len(), 1);
        store.record_step(&new, step(2, answer())).await.unwrap();
        store.finish_turn(&new, done("c-1", "r-1")).await.unwrap();
        let error = store.record_step(&new, step(3, answer())).await.unwrap_err();
        assert!(error.to_string().ends_with("it has ended"), "{error}");
    }

    #[test]
    async fn released_turn_can_be_taken_over_at_once(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        let old = begun(&store, fixtures::begin("t-1", "c-1")).await.hold;
        assert!(take_over(&store, &old.turn, "node-b").await.is_none());
        store.release_turn(&old).await.unwrap();
        let new = take_over(&store, &old.turn, "node-b").await.unwrap().hold;
        let error = store.release_turn(&old).await.unwrap_err();
        assert!(matches!(error, StoreError::LeaseLost { .. }), "{error}");
        store.finish_turn(&new, done("c-1", "r-1")).await.unwrap();
    }

    #[test]
    async fn step_is_appended_and_never_overwritten(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        let hold = begun(&store, begin("t-1", "c-1")).await.hold;
        store.record_step(&hold, step(2, started("c-1", true))).await.unwrap();
        store.record_step(&hold, step(2, started("c-1", true))).await.unwrap();
        store.record_step(&hold, step(3, answer())).await.unwrap();
        store.record_step(&hold, step(2, started("c-1", true))).await.unwrap();
        let refused = [
            step(2, started("c-2", true)),
            step(5, answer()),
            step(0, answer()),
            step(4, JournalStep::Replied { messages: Vec::new() }),
            step(4, JournalStep::Accepted { messages: Vec::new() }),
        ];
        for new in refused {
            let new = NewStep { saved: Some(json!("half")), ..new };
            let error = store.record_step(&hold, new).await.unwrap_err();
            assert!(matches!(error, StoreError::Refused { .. }), "{error}");
        }
        assert_eq!(store.journal(&hold.turn).await.unwrap().len(), 3);
    }

    #[test]
    async fn unknown_step_is_preserved(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        let hold = begun(&store, begin("t-1", "c-1")).await.hold;
        let newer = JournalStep::Other(json!({"kind": "delegated", "to": ["bob"]}));
        store.record_step(&hold, step(2, newer.clone())).await.unwrap();
        store.record_step(&hold, step(2, newer.clone())).await.unwrap();
        assert_eq!(store.journal(&hold.turn).await.unwrap()[1].step, newer);
    }

    #[test]
    async fn turn_records_its_prompt(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        let hold = begun(&store, begin("t-1", "c-1")).await.hold;
        assert_eq!(store.turn(&hold.turn).await.unwrap().prompt, None);
        let prompt = PromptBuilt {
            fingerprint: ContentHash::of("You are kind."),
            epoch: 3,
            layer_versions: [("persona".to_owned(), 7)].into(),
        };
        store.record_step(&hold, step(2, JournalStep::PromptBuilt(prompt.clone()))).await.unwrap();
        assert_eq!(store.turn(&hold.turn).await.unwrap().prompt, Some(prompt));
    }

    #[test]
    async fn saved_state_reaches_the_next_node(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        let hold = begun(&store, fixtures::dying("t-1", "c-1")).await.hold;
        let with = |number, saved| NewStep { saved: Some(saved), ..step(number, answer()) };
        store.record_step(&hold, with(2, json!({"at": 2, "zero": "\0"}))).await.unwrap();
        store.record_step(&hold, step(3, answer())).await.unwrap();
        let second = take_over(&store.open_again().await, &hold.turn, "node-b").await.unwrap();
        assert_eq!(second.saved, Some(json!({"at": 2, "zero": "\0"})));
        assert_eq!(second.journal.next_number(), 4);
        store.save_turn(&second.hold, json!([4]), now()).await.unwrap();
        let third = take_over(&store, &hold.turn, "node-c").await.unwrap();
        assert_eq!((third.saved, third.turn.attempts), (Some(json!([4])), 3));
    }

    #[test]
    async fn turn_takes_only_free_messages(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        conversation(&store, "c-2").await;
        for name in ["m-1", "m-2", "m-3"] {
            say(&store, &id, name).await;
        }
        let named = |turn, names: &[&str]| fixtures::taking(turn, "c-1", names);
        let first = begun(&store, named("t-1", &["m-2"])).await;
        assert_eq!(first.messages.len(), 1);
        assert_eq!(store.pending(&id).await.unwrap().len(), 2);
        store.finish_turn(&first.hold, done("c-1", "r-1")).await.unwrap();
        assert_eq!(store.begin_turn(named("t-2", &["m-2", "m-9"])).await.unwrap(), BeginOutcome::NothingToTake);
        let stranger = fixtures::taking("t-2", "c-2", &["m-1"]);
        assert_eq!(store.begin_turn(stranger).await.unwrap(), BeginOutcome::NothingToTake);
        let second = begun(&store, named("t-2", &["m-3", "m-2", "m-1"])).await;
        let taken: Vec<&str> = second.messages.iter().map(|message| message.message.id.as_str()).collect();
        assert_eq!(taken, ["m-1", "m-3"]);
    }

    #[test]
    async fn turn_without_messages_can_begin(store: TestStore) {
        conversation(&store, "c-1").await;
        let mut scheduled = begin("t-1", "c-1");
        scheduled.take = TakeMessages::Nothing;
        assert_eq!(begun(&store, scheduled).await.messages, []);
    }

    #[test]
    async fn beginning_a_turn_is_idempotent(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        let first = begun(&store, begin("t-1", "c-1")).await;
        assert_eq!(begun(&store, begin("t-1", "c-1")).await, first);
        let mut elsewhere = begin("t-1", "c-1");
        elsewhere.node = "node-b".parse().unwrap();
        let error = store.begin_turn(elsewhere).await.unwrap_err();
        assert!(matches!(error, StoreError::UsedBefore { .. }), "{error}");
        store.finish_turn(&first.hold, done("c-1", "r-1")).await.unwrap();
        let error = store.begin_turn(begin("t-1", "c-1")).await.unwrap_err();
        assert!(matches!(error, StoreError::UsedBefore { .. }), "{error}");
        let error = store.begin_turn(begin("t-2", "c-9")).await.unwrap_err();
        assert!(matches!(error, StoreError::NotFound { what: "conversation", .. }), "{error}");
    }

    #[test]
    async fn finishing_a_turn_is_atomic_and_idempotent(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        conversation(&store, "c-2").await;
        say(&store, &id, "m-1").await;
        let hold = begun(&store, begin("t-1", "c-1")).await.hold;
        // The second message belongs to another conversation, or its id exists.
        for bad in [message("c-2", "r-2"), message("c-1", "m-1")] {
            let mut finish = done("c-1", "r-1");
            finish.reply.push(bad);
            store.finish_turn(&hold, finish).await.unwrap_err();
            assert_eq!(store.history(&id).await.unwrap().messages.len(), 1);
            assert_eq!(store.turn(&hold.turn).await.unwrap().state, TurnState::Running);
        }
        let reply = store.finish_turn(&hold, done("c-1", "r-1")).await.unwrap();
        assert_eq!(store.finish_turn(&hold, done("c-1", "r-1")).await.unwrap(), reply);
        assert_eq!(store.history(&id).await.unwrap().messages.len(), 2);
        assert_eq!(store.journal(&hold.turn).await.unwrap().len(), 2);
        let failed = FinishTurn { outcome: Outcome::Failed, ..done("c-1", "r-1") };
        let error = store.finish_turn(&hold, failed).await.unwrap_err();
        assert!(matches!(error, StoreError::LeaseLost { holder: None, .. }), "{error}");
    }

    #[test]
    async fn failed_turn_releases_the_conversation(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        let hold = begun(&store, begin("t-1", "c-1")).await.hold;
        let failure = Some(Failure::new(ErrorCategory::ProviderTransient, "no answer from the model"));
        let failed = FinishTurn { outcome: Outcome::Failed, reply: Vec::new(), failure: failure.clone(), at: now() };
        store.finish_turn(&hold, failed).await.unwrap();
        let turn = store.turn(&hold.turn).await.unwrap();
        assert_eq!((turn.state, turn.failure), (TurnState::Ended(Outcome::Failed), failure));
        assert_eq!(store.journal(&hold.turn).await.unwrap().len(), 1);
        say(&store, &id, "m-2").await;
        assert_eq!(begun(&store, begin("t-2", "c-1")).await.messages.len(), 1);
    }

    #[test]
    async fn turns_are_listed_in_order_despite_clock_changes(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        for (number, time) in [(1, "2026-11-16T09:00:00Z"), (2, "2026-11-16T08:00:00Z"), (3, "2026-11-16T08:30:00Z")] {
            say(&store, &id, &format!("m-{number}")).await;
            let mut new = begin(&format!("t-{number}"), "c-1");
            (new.now, new.trust) = (at(time), Trust::Inner);
            let hold = begun(&store, new).await.hold;
            store.finish_turn(&hold, done("c-1", &format!("r-{number}"))).await.unwrap();
        }
        let names = |turns: &[foreword_store::turns::StoredTurn]| -> Vec<String> {
            turns.iter().map(|turn| turn.id.to_string()).collect()
        };
        let first = store.turns(&id, None, 2).await.unwrap();
        assert_eq!(names(&first), ["t-3", "t-2"]);
        assert_eq!((first[0].trust, first[0].started_at), (Trust::Inner, at("2026-11-16T08:30:00Z")));
        let rest = store.turns(&id, Some(first[1].fence), 2).await.unwrap();
        assert_eq!(names(&rest), ["t-1"]);
        assert_eq!(store.turns(&"c-9".parse().unwrap(), None, 2).await.unwrap(), []);
    }

    #[test]
    async fn turns_are_deleted_with_their_conversation(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        let hold = begun(&store, begin("t-1", "c-1")).await.hold;
        store.delete_conversation(&id).await.unwrap();
        for error in [
            store.turn(&hold.turn).await.unwrap_err(),
            store.journal(&hold.turn).await.unwrap_err(),
            store.record_step(&hold, step(2, answer())).await.unwrap_err(),
            store.finish_turn(&hold, done("c-1", "r-1")).await.unwrap_err(),
        ] {
            assert!(matches!(error, StoreError::NotFound { what: "turn", .. }), "{error}");
        }
        assert_eq!(store.unfinished_turns(now().plus(HOUR * 2)).await.unwrap(), []);
    }

    #[test]
    async fn turns_are_found_by_id_prefix(store: TestStore) {
        for (conversation_id, turn) in [("c-1", "t-1%a"), ("c-2", "t-1%b"), ("c-3", "t-2"), ("c-4", "T-1")] {
            let id = conversation(&store, conversation_id).await;
            say(&store, &id, &format!("m-{conversation_id}")).await;
            begun(&store, begin(turn, conversation_id)).await;
        }
        let found = async |beginning: &str, limit| {
            let found = store.turns_with_id_prefix(beginning, limit).await.unwrap();
            found.iter().map(|id| id.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found("t-1", 5).await, ["t-1%b", "t-1%a"]);
        assert_eq!(found("t-1%b", 5).await, ["t-1%b"]);
        assert_eq!(found("t", 2).await.len(), 2);
        assert!(found("%", 5).await.is_empty() && found("t-1_", 5).await.is_empty());
    }

    #[test]
    async fn tool_result_round_trips(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        let hold: TurnLease = begun(&store, begin("t-1", "c-1")).await.hold;
        let call = CallId::new("call-1").unwrap();
        let result = ToolResult { call: call.clone(), content: "a\0b \u{1f600} '\"".to_owned(), is_error: true };
        store.record_step(&hold, step(2, started("call-1", true))).await.unwrap();
        store.record_step(&hold, step(3, JournalStep::ToolFinished(result.clone()))).await.unwrap();
        assert_eq!(store.journal(&TurnId::new("t-1").unwrap()).await.unwrap()[2].step, JournalStep::ToolFinished(result));
    }

    #[test]
    async fn message_during_a_turn_waits_for_the_next(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        let first = begun(&store, begin("t-1", "c-1")).await;
        say(&store, &id, "m-2").await;
        store.finish_turn(&first.hold, done("c-1", "r-1")).await.unwrap();
        let second = begun(&store, begin("t-2", "c-1")).await;
        assert_eq!(second.messages[0].message.id.as_str(), "m-2");
        assert_eq!(second.messages[0].message.kind, Kind::Message);
    }
}
