//! Inbox and outbox: no message is lost, and no turn is answered twice or partially.

use std::collections::BTreeSet;

use foreword_core::id::{InboxId, OutboxId, TurnId};
use foreword_core::sender::{HistoryLimits, SenderAddress, SkipReason};
use foreword_store::changes::StoreChange;
use foreword_store::error::StoreError;
use foreword_store::mailboxes::{
    BatchOutcome, FinishedBatch, InboxMessage, NewInboxMessage, NewOutboxMessage, Staged, Unanswered,
};
use foreword_store::store::Store;

use crate::contract::{at, contract, now};

fn address(text: &str) -> SenderAddress {
    SenderAddress::new(text).unwrap()
}

fn inbox(id: &str) -> InboxId {
    InboxId::new(id).unwrap()
}

fn outbox(id: &str) -> OutboxId {
    OutboxId::new(id).unwrap()
}

fn message(id: &str, sender: &str, body: &str) -> NewInboxMessage {
    NewInboxMessage { id: inbox(id), sender: address(sender), body: body.to_owned(), at: now() }
}

fn reply(id: &str, to: &str, answers: Option<&str>, body: &str) -> NewOutboxMessage {
    NewOutboxMessage {
        id: outbox(id),
        recipient: address(to),
        body: body.to_owned(),
        in_reply_to: answers.map(inbox),
    }
}

fn batch(turn: &str, consumed: &[&str], replies: Vec<NewOutboxMessage>) -> FinishedBatch {
    FinishedBatch {
        turn: TurnId::new(turn).unwrap(),
        at: at("2026-11-16T09:00:00Z"),
        consumed: consumed.iter().copied().map(inbox).collect(),
        replies,
        limits: HistoryLimits::default(),
        unanswered: Unanswered::default(),
    }
}

fn ids(messages: &[InboxMessage]) -> Vec<&str> {
    messages.iter().map(|message| message.id.as_str()).collect()
}

async fn stage(store: &Store, messages: &[(&str, &str)]) {
    for (id, sender) in messages {
        store.stage(message(id, sender, &format!("{id}?"))).await.unwrap();
    }
}

contract! {
    #[test]
    async fn messages_wait_in_full_and_in_order(store: TestStore) {
        let long = "long ".repeat(10_000);
        let mut changes = store.changes();
        // Arrival order counts, not the timestamp.
        let late = NewInboxMessage { at: at("2026-11-16T23:00:00Z"), ..message("m-2", "0xABC", &long) };
        let staged = store.stage(late).await.unwrap();
        assert!(matches!(&staged, Staged::New(message) if message.consumed.is_none()), "{staged:?}");
        store.stage(message("m-1", "bob", "zero\0byte")).await.unwrap();
        assert_eq!(changes.recv().await.unwrap(), StoreChange::Inbox);
        let waiting = store.open_again().await.staged(10).await.unwrap();
        assert_eq!(ids(&waiting), ["m-2", "m-1"]);
        assert_eq!((waiting[0].body.as_str(), waiting[0].sender.as_str()), (long.as_str(), "0xabc"));
        assert_eq!(waiting[1].body, "zero\u{FFFD}byte");
        assert_eq!(ids(&store.staged(1).await.unwrap()), ["m-2"]);
    }

    #[test]
    async fn same_inbox_message_is_stored_once(store: TestStore) {
        let Staged::New(first) = store.stage(message("m-1", "alice", "hello")).await.unwrap() else { panic!("not new") };
        let again = store.stage(message("m-1", "alice", "hello")).await.unwrap();
        assert_eq!(again, Staged::Again(first));
        for other in [message("m-1", "mallory", "hello"), message("m-1", "alice", "something else")] {
            let error = store.stage(other).await.unwrap_err();
            assert!(matches!(error, StoreError::UsedBefore { .. }), "{error}");
        }
        store.finish_batch(batch("t-1", &["m-1"], vec![])).await.unwrap();
        let after = store.stage(message("m-1", "alice", "hello")).await.unwrap();
        assert!(matches!(&after, Staged::Again(message) if message.consumed.is_some()), "{after:?}");
        assert_eq!(store.staged(10).await.unwrap(), []);
    }

    #[test]
    async fn turn_takes_messages_and_records_replies_atomically(store: TestStore) {
        stage(&store, &[("m-1", "alice"), ("m-2", "mallory"), ("m-3", "alice"), ("m-4", "bob")]).await;
        let long = "x".repeat(2_000);
        let replies = vec![reply("o-1", "alice", Some("m-1"), "hi\0"), reply("o-2", "carol", None, &long)];
        let finished = store.finish_batch(batch("t-1", &["m-1", "m-2", "m-3"], replies)).await.unwrap();
        let BatchOutcome::Now(recorded) = finished else { panic!("{finished:?}") };
        assert_eq!(recorded.admitted, [address("alice")]);
        assert_eq!(ids(&store.staged(10).await.unwrap()), ["m-4"]);
        let consumed = store.inbox_message(&inbox("m-2")).await.unwrap().consumed;
        assert_eq!(consumed, Some((TurnId::new("t-1").unwrap(), at("2026-11-16T09:00:00Z"))));
        let waiting = store.undelivered(10).await.unwrap();
        assert_eq!(waiting.iter().map(|message| message.id.as_str()).collect::<Vec<_>>(), ["o-1", "o-2"]);
        assert_eq!((waiting[0].body.as_str(), waiting[0].in_reply_to.clone()), ("hi\u{FFFD}", Some(inbox("m-1"))));
        assert_eq!(waiting[1].body, long);
        // Alice got one answer; senders without an answer have no history.
        let senders = BTreeSet::from(["alice", "mallory", "carol"].map(address));
        let recent = store.recent_exchanges(&senders, 5).await.unwrap();
        assert_eq!(recent.len(), 1);
        let said: Vec<_> = recent[&address("alice")].iter().map(|e| (e.body.as_str(), e.reply.as_deref())).collect();
        assert_eq!(said, [("m-1?", Some("hi\u{FFFD}")), ("m-3?", None)]);
    }

    #[test]
    async fn repeated_finish_replies_only_once(store: TestStore) {
        stage(&store, &[("m-1", "alice"), ("m-2", "bob")]).await;
        let first = batch("t-1", &["m-1", "m-2"], vec![reply("o-1", "alice", Some("m-1"), "hi")]);
        store.finish_batch(first.clone()).await.unwrap();
        let history = store.sender(&address("alice")).await.unwrap();
        assert_eq!(store.finish_batch(first).await.unwrap(), BatchOutcome::Before);
        // The turn was resumed after a crash and wrote another answer.
        let other = batch("t-1", &["m-1", "m-2"], vec![reply("o-9", "alice", Some("m-1"), "hello")]);
        assert_eq!(store.finish_batch(other).await.unwrap(), BatchOutcome::Before);
        assert_eq!(store.undelivered(10).await.unwrap().len(), 1);
        assert_eq!(store.sender(&address("alice")).await.unwrap(), history);
    }

    #[test]
    async fn failed_batch_changes_nothing(store: TestStore) {
        stage(&store, &[("m-1", "alice"), ("m-2", "bob"), ("m-3", "carol")]).await;
        store.finish_batch(batch("t-1", &["m-2"], vec![reply("o-1", "bob", Some("m-2"), "hi")])).await.unwrap();
        let answers = || vec![reply("o-2", "alice", Some("m-1"), "hi")];
        let other = store.finish_batch(batch("t-2", &["m-1", "m-2"], answers())).await.unwrap_err();
        assert!(matches!(&other, StoreError::Taken { id, turn, .. } if id == "m-2" && turn == "t-1"), "{other}");
        let mixed = store.finish_batch(batch("t-1", &["m-2", "m-3"], answers())).await.unwrap_err();
        assert!(matches!(&mixed, StoreError::Taken { id, .. } if id == "m-2"), "{mixed}");
        let unknown = store.finish_batch(batch("t-2", &["m-1", "m-9"], answers())).await.unwrap_err();
        assert!(matches!(&unknown, StoreError::NotFound { id, .. } if id == "m-9"), "{unknown}");
        let clash = vec![reply("o-2", "alice", Some("m-1"), "hi"), reply("o-1", "alice", None, "clash")];
        let clash = store.finish_batch(batch("t-2", &["m-1"], clash)).await.unwrap_err();
        assert!(matches!(&clash, StoreError::Taken { id, .. } if id == "o-1"), "{clash}");
        assert_eq!(ids(&store.staged(10).await.unwrap()), ["m-1", "m-3"]);
        assert_eq!(store.undelivered(10).await.unwrap().len(), 1);
        assert_eq!(store.sender(&address("alice")).await.unwrap(), None);
    }

    #[test]
    async fn concurrent_turns_answer_once(store: TestStore) {
        stage(&store, &[("m-1", "alice"), ("m-2", "bob")]).await;
        let other = store.open_again().await;
        let tasks = ["t-1", "t-2", "t-3", "t-4"].map(|turn| {
            let store = if turn == "t-1" { Store::clone(&store) } else { other.clone() };
            let batch = batch(turn, &["m-1", "m-2"], vec![reply(&format!("o-{turn}"), "alice", Some("m-1"), "hi")]);
            tokio::spawn(async move { store.finish_batch(batch).await })
        });
        let mut finished = 0;
        for task in tasks {
            match task.await.unwrap() {
                Ok(BatchOutcome::Now(_)) => finished += 1,
                Err(StoreError::Taken { .. }) => {}
                outcome => panic!("{outcome:?}"),
            }
        }
        assert_eq!((finished, store.undelivered(10).await.unwrap().len()), (1, 1));
    }

    #[test]
    async fn sender_beyond_quota_is_answered_and_reported(store: TestStore) {
        stage(&store, &[("m-1", "alice"), ("m-2", "bob")]).await;
        let replies = vec![reply("o-1", "alice", Some("m-1"), "hi"), reply("o-2", "bob", Some("m-2"), "hi")];
        let limits = HistoryLimits { new_senders_per_hour: 1, ..HistoryLimits::default() };
        let finished = store.finish_batch(FinishedBatch { limits, ..batch("t-1", &["m-1", "m-2"], replies) }).await.unwrap();
        let BatchOutcome::Now(recorded) = finished else { panic!("{finished:?}") };
        assert_eq!(recorded.not_kept[0].sender, address("bob"));
        assert_eq!(recorded.not_kept[0].reason, SkipReason::TooManyNewSenders);
        assert_eq!(store.undelivered(10).await.unwrap().len(), 2);
        assert_eq!(store.inbox_message(&inbox("m-2")).await.unwrap().body, "m-2?");
    }

    #[test]
    async fn turn_can_write_without_a_request(store: TestStore) {
        let own = batch("t-1", &[], vec![reply("o-1", "alice", None, "good morning")]);
        store.finish_batch(own.clone()).await.unwrap();
        store.finish_batch(own).await.unwrap();
        assert_eq!(store.undelivered(10).await.unwrap().len(), 1);
        assert_eq!(store.senders(None, 10).await.unwrap(), []);
    }

    #[test]
    async fn delivered_message_is_not_delivered_again(store: TestStore) {
        let replies = vec![reply("o-1", "alice", None, "one"), reply("o-2", "bob", None, "two")];
        store.finish_batch(batch("t-1", &[], replies)).await.unwrap();
        let failed = store.delivery_tried(&outbox("o-1"), None).await.unwrap();
        assert_eq!((failed.attempts, failed.delivered_at), (1, None));
        assert_eq!(store.undelivered(10).await.unwrap().len(), 2);
        store.delivery_tried(&outbox("o-1"), Some(now())).await.unwrap();
        let again = store.delivery_tried(&outbox("o-1"), Some(at("2027-01-01T00:00:00Z"))).await.unwrap();
        assert_eq!((again.attempts, again.delivered_at), (3, Some(now())));
        let waiting = store.undelivered(10).await.unwrap();
        assert_eq!(waiting.iter().map(|message| message.id.as_str()).collect::<Vec<_>>(), ["o-2"]);
        assert_eq!(store.outbox_message(&outbox("o-1")).await.unwrap(), again);
        let unknown = store.delivery_tried(&outbox("o-9"), None).await.unwrap_err();
        assert!(matches!(unknown, StoreError::NotFound { .. }), "{unknown}");
    }
}
