//! The inbox under load: limits, failed attempts, and spending.

use foreword_core::event::{Event, EventType};
use foreword_core::id::{InboxId, OutboxId, TurnId};
use foreword_core::sender::{FailureSource, HistoryLimits, InboxState, SenderAddress};
use foreword_store::error::StoreError;
use foreword_store::mailboxes::{
    BatchOutcome, FinishedBatch, NewInboxMessage, NewOutboxMessage, StageOutcome, Staged, Unanswered,
    WaitingLimits,
};
use foreword_store::store::Store;

use crate::contract::{at, contract, now};
use crate::turns::fixtures;

fn id(text: &str) -> InboxId {
    InboxId::new(text).unwrap()
}

fn turn(text: &str) -> TurnId {
    TurnId::new(text).unwrap()
}

fn message(name: &str, sender: &str) -> NewInboxMessage {
    let sender = SenderAddress::new(sender).unwrap();
    NewInboxMessage { id: id(name), sender, body: format!("{name}?"), at: now() }
}

async fn states(store: &Store) -> Vec<(String, InboxState, u64)> {
    let mut all = store.inbox_messages(None, 100).await.unwrap();
    all.reverse();
    all.into_iter().map(|message| (message.id.to_string(), message.state, message.attempts)).collect()
}

contract! {
    #[test]
    async fn inbox_limits_apply_per_sender_and_in_total(store: TestStore) {
        let limits = WaitingLimits { per_sender: 2, in_all: 3 };
        let bring = async |name: &str, sender: &str| store.stage_within(message(name, sender), limits).await.unwrap();
        assert!(matches!(bring("m-1", "mallory").await, StageOutcome::Staged(Staged::New(_))));
        bring("m-2", "mallory").await;
        assert_eq!(bring("m-3", "mallory").await, StageOutcome::SenderLimitReached { limit: 2 });
        assert!(matches!(bring("m-4", "alice").await, StageOutcome::Staged(Staged::New(_))));
        assert_eq!(bring("m-5", "bob").await, StageOutcome::TotalLimitReached { limit: 3 });
        // A message staged before is found, even above the limit.
        assert!(matches!(bring("m-1", "mallory").await, StageOutcome::Staged(Staged::Again(_))));
        // A consumed message makes room.
        let batch = FinishedBatch {
            turn: turn("t-1"), at: now(), consumed: vec![id("m-1")], replies: vec![], limits: HistoryLimits::default(), unanswered: Unanswered::default(),
        };
        store.finish_batch(batch).await.unwrap();
        assert!(matches!(bring("m-3", "mallory").await, StageOutcome::Staged(Staged::New(_))));
    }

    #[test]
    async fn failing_message_is_set_aside_and_put_back(store: TestStore) {
        store.stage(message("m-1", "alice")).await.unwrap();
        store.stage(message("m-2", "bob")).await.unwrap();
        let both = [id("m-1"), id("m-2")];
        let noted = store.attempt_failed(&both, &turn("t-1"), FailureSource::Message, "no answer").await.unwrap();
        assert_eq!(noted.len(), 2);
        let waiting = store.waiting(10).await.unwrap();
        let waiting: Vec<_> = waiting.iter().map(|one| (one.id.as_str(), one.sender.as_str(), one.attempts)).collect();
        assert_eq!(waiting, [("m-1", "alice", 1), ("m-2", "bob", 1)]);
        assert_eq!(store.waiting(1).await.unwrap().len(), 1);
        // Recording the same turn again changes nothing.
        assert_eq!(store.attempt_failed(&both, &turn("t-1"), FailureSource::Message, "no answer").await.unwrap(), []);
        store.attempt_failed(&both[..1], &turn("t-2"), FailureSource::Message, "no answer").await.unwrap();
        let last = store.attempt_failed(&both[..1], &turn("t-3"), FailureSource::Message, "still none").await.unwrap();
        let error = last[0].error.as_ref().map(|error| error.for_record().as_str());
        assert_eq!((last[0].state, error), (InboxState::SetAside, Some("still none")));
        let expected = [("m-1".to_owned(), InboxState::SetAside, 3), ("m-2".to_owned(), InboxState::Staged, 1)];
        assert_eq!(states(&store).await, expected);
        assert_eq!(store.staged(10).await.unwrap().len(), 1);
        let aside = store.inbox_messages(Some(InboxState::SetAside), 10).await.unwrap();
        assert_eq!((aside.len(), aside[0].body.as_str()), (1, "m-1?"));
        // Its attempts are kept: another three follow.
        assert_eq!(store.put_back(&id("m-1")).await.unwrap().attempts, 3);
        for (number, state) in [(4, InboxState::Staged), (5, InboxState::Staged), (6, InboxState::SetAside)] {
            store.attempt_failed(&both[..1], &turn(&format!("t-{number}")), FailureSource::Message, "no").await.unwrap();
            assert_eq!(states(&store).await[0], ("m-1".to_owned(), state, number));
        }
        let unknown = store.put_back(&id("m-9")).await.unwrap_err();
        assert!(matches!(unknown, StoreError::NotFound { .. }), "{unknown}");
    }

    #[test]
    async fn other_faults_count_without_setting_aside(store: TestStore) {
        store.stage(message("m-1", "alice")).await.unwrap();
        let only = [id("m-1")];
        let faults = [FailureSource::Environment, FailureSource::Message, FailureSource::Environment, FailureSource::Environment, FailureSource::Message];
        for (number, fault) in (1..).zip(faults) {
            let noted = store.attempt_failed(&only, &turn(&format!("t-{number}")), fault, "no").await.unwrap();
            assert_eq!((noted[0].state, noted[0].attempts), (InboxState::Staged, number));
        }
        let last = store.attempt_failed(&only, &turn("t-6"), FailureSource::Message, "no").await.unwrap();
        assert_eq!((last[0].state, last[0].attempts, last[0].failures), (InboxState::SetAside, 6, 3));
    }

    #[test]
    async fn putting_back_clears_the_failure_time(store: TestStore) {
        store.stage(message("m-1", "alice")).await.unwrap();
        let conversation = fixtures::conversation(&store, "c-1").await;
        fixtures::say(&store, &conversation, "u-1").await;
        let hold = fixtures::begun(&store, fixtures::begin("t-1", "c-1")).await.hold;
        let end = fixtures::done("c-1", "r-1");
        let ended = end.at;
        store.finish_turn(&hold, end).await.unwrap();
        let noted = store.attempt_failed(&[id("m-1")], &hold.turn, FailureSource::Environment, "no").await.unwrap();
        assert_eq!((noted[0].tried_at, &noted[0].failed_turn), (Some(ended), &Some(hold.turn.clone())));
        let again = store.open_again().await;
        assert_eq!(again.waiting(1).await.unwrap()[0].tried_at, Some(ended));
        assert_eq!(again.staged(1).await.unwrap()[0].tried_at, Some(ended));
        // Putting back a waiting message clears its retry delay and keeps its attempts.
        let put_back = store.put_back(&id("m-1")).await.unwrap();
        assert_eq!((put_back.tried_at, put_back.failed_turn, put_back.attempts), (None, None, 1));
        assert_eq!(store.waiting(1).await.unwrap()[0].tried_at, None);
    }

    #[test]
    async fn all_messages_set_aside_can_be_put_back(store: TestStore) {
        for name in ["m-1", "m-2", "m-3"] {
            store.stage(message(name, "alice")).await.unwrap();
        }
        for number in 1..=3 {
            let both = [id("m-1"), id("m-3")];
            store.attempt_failed(&both, &turn(&format!("t-{number}")), FailureSource::Message, "no").await.unwrap();
        }
        assert_eq!(store.staged(10).await.unwrap().len(), 1);
        assert_eq!((store.put_all_back().await.unwrap(), store.put_all_back().await.unwrap()), (2, 0));
        assert_eq!(store.staged(10).await.unwrap().len(), 3);
    }

    #[test]
    async fn failed_turn_may_still_answer(store: TestStore) {
        store.stage(message("m-1", "alice")).await.unwrap();
        store.attempt_failed(&[id("m-1")], &turn("t-1"), FailureSource::Message, "cut off").await.unwrap();
        let reply = NewOutboxMessage {
            id: OutboxId::new("o-1").unwrap(),
            recipient: SenderAddress::new("alice").unwrap(),
            body: "hello".to_owned(),
            in_reply_to: Some(id("m-1")),
        };
        let batch = FinishedBatch {
            turn: turn("t-2"), at: now(), consumed: vec![id("m-1")], replies: vec![reply],
            limits: HistoryLimits::default(), unanswered: Unanswered::default(),
        };
        assert!(matches!(store.finish_batch(batch).await.unwrap(), BatchOutcome::Now(_)));
        assert_eq!(store.attempt_failed(&[id("m-1")], &turn("t-3"), FailureSource::Message, "late").await.unwrap(), []);
        assert_eq!(states(&store).await, [("m-1".to_owned(), InboxState::Consumed, 1)]);
        let taken = store.put_back(&id("m-1")).await.unwrap_err();
        assert!(matches!(&taken, StoreError::Taken { turn, .. } if turn == "t-2"), "{taken}");
        let outbox = store.outbox_messages(10).await.unwrap();
        assert_eq!(outbox.iter().map(|message| message.body.as_str()).collect::<Vec<_>>(), ["hello"]);
        let batch = store.inbox_batch(&[id("m-9"), id("m-1")]).await.unwrap();
        assert_eq!(batch.iter().map(|message| message.id.as_str()).collect::<Vec<_>>(), ["m-1"]);
    }

    #[test]
    async fn unanswered_messages_stay_pending_with_the_reason(store: TestStore) {
        store.stage(message("m-1", "alice")).await.unwrap();
        store.stage(message("m-2", "bob")).await.unwrap();
        let batch = FinishedBatch {
            turn: turn("t-1"), at: now(), consumed: vec![id("m-1")], replies: vec![], limits: HistoryLimits::default(),
            unanswered: Unanswered { messages: vec![id("m-2")], reason: "no reply".to_owned() },
        };
        assert!(matches!(store.finish_batch(batch.clone()).await.unwrap(), BatchOutcome::Now(_)));
        // The same turn counts once.
        assert_eq!(store.finish_batch(batch).await.unwrap(), BatchOutcome::Before);
        let expected = [("m-1".to_owned(), InboxState::Consumed, 0), ("m-2".to_owned(), InboxState::Staged, 1)];
        assert_eq!(states(&store).await, expected);
        let pending = store.inbox_message(&id("m-2")).await.unwrap();
        assert_eq!(pending.error.map(|error| error.for_record().clone()).as_deref(), Some("no reply"));
        assert_eq!((pending.failed_turn, pending.failures), (Some(turn("t-1")), 1));
    }

    #[test]
    async fn message_set_aside_meanwhile_blocks_the_batch(store: TestStore) {
        store.stage(message("m-1", "alice")).await.unwrap();
        for number in 1..=3 {
            store.attempt_failed(&[id("m-1")], &turn(&format!("t-{number}")), FailureSource::Message, "no").await.unwrap();
        }
        let batch = FinishedBatch {
            turn: turn("t-9"), at: now(), consumed: vec![id("m-1")], replies: vec![], limits: HistoryLimits::default(), unanswered: Unanswered::default(),
        };
        let refused = store.finish_batch(batch).await.unwrap_err();
        assert!(matches!(refused, StoreError::Refused { .. }), "{refused}");
    }

    #[test]
    async fn spending_is_summed_since_a_time(store: TestStore) {
        let call = |event_type: EventType, time: &str, cost_usd: Option<f64>| Event {
            cost_usd, ..Event::new(event_type, at(time))
        };
        let events = [
            call(EventType::ApiCall, "2026-11-15T23:59:59Z", Some(100.0)),
            call(EventType::ApiCall, "2026-11-16T00:00:00Z", Some(0.25)),
            call(EventType::ApiCall, "2026-11-16T01:00:00Z", None),
            call(EventType::ApiError, "2026-11-16T02:00:00Z", Some(0.5)),
            call(EventType::ApiError, "2026-11-16T02:00:00Z", None),
            // The turn's own sum is not an additional cost.
            call(EventType::TurnCompleted, "2026-11-16T03:00:00Z", Some(0.75)),
        ];
        store.add_events(&events).await.unwrap();
        let spent = store.spend_since(at("2026-11-16T00:00:00Z")).await.unwrap();
        assert_eq!((spent.usd, spent.unpriced), (0.75, 1));
        assert_eq!(store.spend_since(at("2027-01-01T00:00:00Z")).await.unwrap().usd, 0.0);
        assert_eq!(store.count_turns().await.unwrap(), 0);
    }
}
