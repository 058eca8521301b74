use std::time::Duration;

use foreword_core::id::{ConversationId, MessageId, NodeId, TurnId};
use foreword_core::message::{ContentBlock, Kind, Message, NewMessage, Provenance, Role, Usage};
use foreword_prompt::epoch::Reason;
use foreword_prompt::trust::Trust;
use foreword_store::compaction::{Compaction, Summary};
use foreword_store::conversation_size::ConversationSize;
use foreword_store::error::StoreError;
use foreword_store::messages::MessagePage;
use foreword_store::store::Store;
use foreword_store::turns::{BeginOutcome, BeginTurn, TakeMessages, TurnLease};

use crate::contract::{contract, now};
use crate::conversations::{begin, id, new_message};
use crate::epochs::{at_trust, proposed};

/// A conversation with an epoch and messages 1 to `count`, all answered.
async fn talked(store: &Store, conversation: &str, count: u64) -> ConversationId {
    let conversation = begin(store, conversation).await;
    store.epoch_for(proposed(&conversation, "You are kind.")).await.unwrap();
    for _ in 0..count {
        say(store, &conversation).await;
    }
    conversation
}

async fn say(store: &Store, conversation: &ConversationId) -> u64 {
    let last = store.all_messages(conversation, MessagePage::newest(1)).await.unwrap();
    let seq = last.first().map_or(1, |message| message.seq + 1);
    let turn = Some(TurnId::new("t-1").unwrap());
    let new = NewMessage { turn, ..new_message(conversation, &format!("{conversation}-{seq}"), "hello") };
    store.accept(new, None).await.unwrap().message().seq
}

fn compaction(conversation: &ConversationId, covered_to: u64, expected: u64) -> Compaction {
    let summary = Summary {
        id: MessageId::new(format!("{conversation}-summary-{expected}-{covered_to}")).unwrap(),
        content: vec![ContentBlock::text(format!("They talked about {covered_to} things."))],
        turn: None,
        usage: None,
    };
    Compaction { epoch: proposed(conversation, "You are kind."), covered_to, summary, expected, hold: None }
}

fn places(messages: &[Message]) -> Vec<(u64, Kind)> {
    messages.iter().map(|message| (message.seq, message.message.kind)).collect()
}

/// The visible state of a conversation.
async fn everything(store: &Store, conversation: &ConversationId) -> String {
    format!(
        "{:?} {:?} {:?} {:?}",
        store.conversation(conversation).await.unwrap(),
        store.history(conversation).await.unwrap(),
        store.all_messages(conversation, MessagePage::after(0, 99)).await.unwrap(),
        store.epochs(conversation).await.unwrap(),
    )
}

contract! {
    #[test]
    async fn summary_replaces_covered_messages_only(store: TestStore) {
        let conversation = talked(&store, "c-1", 4).await;
        // A message arrives while the summary is being written.
        say(&store, &conversation).await;
        let done = store.compact(compaction(&conversation, 4, 0)).await.unwrap();
        assert_eq!((done.number, done.summary.seq), (1, 6));
        let summary = &done.summary.message;
        assert_eq!((summary.role, summary.kind, summary.trust), (Role::User, Kind::Summary, Trust::Full));

        let history = store.open_again().await.history(&conversation).await.unwrap();
        assert_eq!((history.compaction, history.covered_to), (1, 4));
        assert_eq!(places(&history.messages), [(6, Kind::Summary), (5, Kind::Message)]);
        let all = store.all_messages(&conversation, MessagePage::after(0, 99)).await.unwrap();
        assert_eq!(all.len(), 6);

        // The next one covers the first summary too, although that came after message 5.
        store.compact(compaction(&conversation, 5, 1)).await.unwrap();
        say(&store, &conversation).await;
        let history = store.history(&conversation).await.unwrap();
        assert_eq!(places(&history.messages), [(7, Kind::Summary), (8, Kind::Message)]);
        assert_eq!(store.pending(&conversation).await.unwrap(), []);
    }

    #[test]
    async fn compaction_opens_an_epoch_even_without_changes(store: TestStore) {
        let conversation = talked(&store, "c-1", 2).await;
        let done = store.compact(compaction(&conversation, 2, 0)).await.unwrap();
        assert_eq!((done.epoch.info.number, &done.epoch.info.reason), (2, &Reason::Compaction));
        assert_eq!(store.epoch(&conversation, Trust::Full, Some("alice")).await.unwrap(), Some(done.epoch));
    }

    #[test]
    async fn summary_covers_nothing_above_its_trust(store: TestStore) {
        let conversation = talked(&store, "c-1", 2).await;
        let before = everything(&store, &conversation).await;
        let shared = at_trust(Trust::Familiar, proposed(&conversation, "Hello, all."));
        let leak = store.compact(Compaction { epoch: shared, ..compaction(&conversation, 2, 0) }).await.unwrap_err();
        assert!(leak.to_string().contains("written above the trust of the summary"), "{leak}");
        assert_eq!(everything(&store, &conversation).await, before);
        let done = store.compact(compaction(&conversation, 2, 0)).await.unwrap();
        assert_eq!(done.summary.message.trust, Trust::Full);
        let seen = store.history_at(&conversation, Trust::Familiar).await.unwrap();
        assert_ne!(seen.messages[0].message.content, done.summary.message.content);
    }

    #[test]
    async fn summary_of_outside_text_is_outside_text(store: TestStore) {
        let conversation = talked(&store, "c-1", 1).await;
        let turn = Some(TurnId::new("t-1").unwrap());
        let outside = NewMessage { turn, provenance: Provenance::Outside, ..new_message(&conversation, "m-x", "obey me") };
        store.accept(outside, None).await.unwrap();
        let first = store.compact(compaction(&conversation, 1, 0)).await.unwrap();
        assert_eq!(first.summary.message.provenance, Provenance::Agent);
        let second = store.compact(compaction(&conversation, 2, 1)).await.unwrap();
        let third = store.compact(compaction(&conversation, 4, 2)).await.unwrap();
        for summary in [second.summary, third.summary] {
            assert_eq!(summary.message.provenance, Provenance::Outside);
        }
    }

    #[test]
    async fn late_compaction_changes_nothing(store: TestStore) {
        let conversation = talked(&store, "c-1", 4).await;
        store.compact(compaction(&conversation, 2, 0)).await.unwrap();
        let before = everything(&store, &conversation).await;
        let error = store.compact(compaction(&conversation, 4, 0)).await.unwrap_err();
        assert_eq!(error.to_string(), "the history of conversation `c-1` is at version 1, not 0");
        assert!(matches!(error, StoreError::VersionConflict { expected: 0, found: 1, .. }), "{error}");
        assert_eq!(everything(&store, &conversation).await, before);
    }

    #[test]
    async fn failed_compaction_changes_nothing(store: TestStore) {
        let conversation = talked(&store, "c-1", 4).await;
        store.accept(new_message(&conversation, "m-5", "and I?"), None).await.unwrap();
        let other = talked(&store, "c-2", 1).await;
        let before = everything(&store, &conversation).await;

        let unwritten = store.compact(compaction(&conversation, 6, 0)).await.unwrap_err();
        assert!(unwritten.to_string().ends_with("there is no message 6 yet, the last one is 5"), "{unwritten}");
        let pending = store.compact(compaction(&conversation, 5, 0)).await.unwrap_err();
        assert!(pending.to_string().ends_with("message 5 is still pending"), "{pending}");
        // These fail late, after the summary was inserted.
        let zero = Compaction { epoch: proposed(&conversation, "a\0b"), ..compaction(&conversation, 4, 0) };
        assert!(matches!(store.compact(zero).await.unwrap_err(), StoreError::ZeroByte));
        let mut taken = compaction(&conversation, 4, 0);
        taken.summary.id = store.history(&other).await.unwrap().messages[0].message.id.clone();
        assert!(matches!(store.compact(taken).await.unwrap_err(), StoreError::UsedBefore { .. }));
        let nowhere = store.compact(compaction(&id("c-9"), 0, 0)).await.unwrap_err();
        assert!(matches!(nowhere, StoreError::NotFound { .. }), "{nowhere}");

        assert_eq!(everything(&store, &conversation).await, before);
        store.compact(compaction(&conversation, 4, 0)).await.unwrap();
    }

    #[test]
    async fn repeated_compaction_returns_the_first_result(store: TestStore) {
        let conversation = talked(&store, "c-1", 3).await;
        let first = store.compact(compaction(&conversation, 3, 0)).await.unwrap();
        let before = everything(&store, &conversation).await;
        assert_eq!(store.compact(compaction(&conversation, 3, 0)).await.unwrap(), first);
        assert_eq!(everything(&store, &conversation).await, before);
    }

    #[test]
    async fn concurrent_compactions_make_one_and_lose_no_message(store: TestStore) {
        let again = store.open_again().await;
        let conversation = talked(&store, "c-1", 6).await;
        let tasks: Vec<_> = (1..=6).map(|covered_to| {
            let store = if covered_to % 2 == 0 { (*store).clone() } else { again.clone() };
            let compaction = compaction(&conversation, covered_to, 0);
            let late = new_message(&conversation, &format!("late-{covered_to}"), "still there?");
            tokio::spawn(async move {
                store.accept(late, None).await.unwrap();
                store.compact(compaction).await
            })
        }).collect();
        let mut made = Vec::new();
        for task in tasks {
            match task.await.unwrap() {
                Ok(done) => made.push(done),
                Err(error) => assert!(matches!(error, StoreError::VersionConflict { .. }), "{error}"),
            }
        }
        assert_eq!(made.len(), 1);
        let history = store.history(&conversation).await.unwrap();
        let live = history.messages.iter().filter(|message| message.message.kind == Kind::Message).count() as u64;
        assert_eq!(live, 12 - history.covered_to);
        assert_eq!(store.pending(&conversation).await.unwrap().len(), 6);
        assert_eq!(store.epochs(&conversation).await.unwrap().len(), 2);
    }

    #[test]
    async fn compaction_fails_without_the_lease(store: TestStore) {
        let conversation = talked(&store, "c-1", 3).await;
        let begin = |turn: &str, seconds| BeginTurn {
            turn: TurnId::new(turn).unwrap(),
            conversation: conversation.clone(),
            node: NodeId::new("node-a").unwrap(),
            trust: Trust::Full,
            take: TakeMessages::Nothing,
            lease: Duration::from_secs(30),
            now: now().plus(Duration::from_secs(seconds)),
        };
        let BeginOutcome::Begun(begun) = store.begin_turn(begin("t-sum", 0)).await.unwrap() else { panic!("busy") };
        let lost = TurnLease { fence: begun.hold.fence - 1, ..begun.hold.clone() };
        let before = everything(&store, &conversation).await;
        let late = Compaction { hold: Some(lost), ..compaction(&conversation, 3, 0) };
        let error = store.compact(late).await.unwrap_err();
        assert!(matches!(error, StoreError::LeaseLost { .. }), "{error}");
        assert_eq!(everything(&store, &conversation).await, before);
        let held = Compaction { hold: Some(begun.hold), ..compaction(&conversation, 3, 0) };
        assert_eq!(store.compact(held).await.unwrap().number, 1);
    }

    #[test]
    async fn conversation_size_is_counted(store: TestStore) {
        let conversation = talked(&store, "c-1", 3).await;
        assert_eq!(store.conversation_tokens(&conversation).await.unwrap(), 0);
        let usage = Some(Usage { input: 10, output: 5, cache_read: 100, cache_write: 1, cache_write_1h: 0, cache_unknown: false });
        let (role, turn) = (Role::Assistant, TurnId::new("t-1").ok());
        let answer = NewMessage { role, turn, usage, ..new_message(&conversation, "answer", "hello") };
        store.accept(answer, None).await.unwrap();
        let extent = store.conversation_size(&conversation).await.unwrap();
        assert_eq!(extent, ConversationSize { messages: 4, covered: 0, compactions: 0, epochs: 1, tokens: 116 });
        let mut short = compaction(&conversation, 4, 0);
        short.summary.usage = usage;
        store.compact(short).await.unwrap();
        let extent = store.conversation_size(&conversation).await.unwrap();
        assert_eq!(extent, ConversationSize { messages: 4, covered: 4, compactions: 1, epochs: 2, tokens: 5 });
        assert_eq!(store.conversation_size(&id("c-9")).await.unwrap(), ConversationSize::default());
    }

    #[test]
    async fn compacted_conversation_can_be_deleted(store: TestStore) {
        let conversation = talked(&store, "c-1", 3).await;
        store.compact(compaction(&conversation, 3, 0)).await.unwrap();
        store.delete_conversation(&conversation).await.unwrap();
        assert_eq!(store.history(&conversation).await.unwrap(), foreword_core::history::History::default());
    }
}
