use std::time::Duration;

use foreword_core::history_visibility::WITHHELD;
use foreword_core::id::{CallId, TurnId};
use foreword_core::message::{ContentBlock, Kind, Message, NewMessage, Provenance, Role, Usage};
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::messages::{AcceptOutcome, IdempotencyKey, MessagePage};
use foreword_store::store::Store;
use proptest::prelude::*;

use crate::contract::{contract, now, on_sqlite};
use crate::conversations::{begin, id, new_message};

fn key(scope: &str, key: &str) -> Option<IdempotencyKey> {
    Some(IdempotencyKey { scope: scope.to_owned(), key: key.to_owned() })
}

async fn accept(store: &Store, new: NewMessage) -> Message {
    match store.accept(new, None).await.unwrap() {
        AcceptOutcome::New(message) => message,
        AcceptOutcome::Before(before) => panic!("{before:?}"),
    }
}

fn seqs(messages: &[Message]) -> Vec<u64> {
    messages.iter().map(|message| message.seq).collect()
}

contract! {
    #[test]
    async fn accepted_message_is_visible_to_every_connection(store: TestStore) {
        let conversation = begin(&store, "c-1").await;
        let full = NewMessage {
            role: Role::Assistant,
            content: vec![
                ContentBlock::text("Hm \u{0} \u{1f600}."),
                ContentBlock::ToolCall {
                    id: CallId::new("call-1").unwrap(),
                    name: "memory_get".to_owned(),
                    input: serde_json::json!({ "path": "memory/x.md", "from": 1, "share": 0.1 }),
                },
                ContentBlock::Other(serde_json::json!({ "type": "text", "text": "x", "citations": [1.5e-9] })),
            ],
            provenance: Provenance::Agent,
            author: None,
            turn: Some(TurnId::new("t-1").unwrap()),
            usage: Some(Usage { input: 1, output: 2, cache_read: 3, cache_write: 4, ..Usage::default() }),
            ..new_message(&conversation, "m-1", "")
        };
        let stored = accept(&store, full.clone()).await;
        assert_eq!((stored.seq, &stored.message), (1, &full));
        let elsewhere = store.open_again().await;
        assert_eq!(elsewhere.history(&conversation).await.unwrap().messages, [stored]);
    }

    #[test]
    async fn repeated_delivery_is_one_message(store: TestStore) {
        let conversation = begin(&store, "c-1").await;
        let new = new_message(&conversation, "m-1", "hello");
        let AcceptOutcome::New(first) = store.accept(new.clone(), key("signal", "k-1")).await.unwrap() else { panic!() };
        // A second delivery, with its own id and time.
        let again = NewMessage { at: now().plus(Duration::from_secs(9)), ..new_message(&conversation, "m-2", "hello") };
        assert_eq!(store.accept(again, key("signal", "k-1")).await.unwrap(), AcceptOutcome::Before(first.clone()));
        // By its id alone.
        assert_eq!(store.accept(new, None).await.unwrap(), AcceptOutcome::Before(first.clone()));
        // The same key in another scope.
        let other = store.accept(new_message(&conversation, "m-3", "hello"), key("discord", "k-1")).await.unwrap();
        assert!(matches!(other, AcceptOutcome::New(Message { seq: 2, .. })), "{other:?}");
        assert_eq!(store.history(&conversation).await.unwrap().messages.len(), 2);
    }

    #[test]
    async fn reused_key_with_other_content_is_refused(store: TestStore) {
        let (one, two) = (begin(&store, "c-1").await, begin(&store, "c-2").await);
        let first = new_message(&one, "m-1", "pay 10");
        store.accept(first.clone(), key("signal", "k-1")).await.unwrap();
        let by_bob = NewMessage { author: Some("bob".to_owned()), ..first.clone() };
        let refused = [
            (new_message(&one, "m-2", "pay 1000"), key("signal", "k-1"), "idempotency key `k-1`"),
            (new_message(&two, "m-2", "pay 10"), key("signal", "k-1"), "idempotency key `k-1`"),
            (by_bob.clone(), key("signal", "k-1"), "idempotency key `k-1`"),
            (new_message(&one, "m-1", "pay 1000"), None, "message id `m-1`"),
            (new_message(&two, "m-1", "pay 10"), None, "message id `m-1`"),
            (by_bob, key("signal", "k-2"), "message id `m-1`"),
        ];
        for (new, key, named) in refused {
            let error = store.accept(new, key).await.unwrap_err();
            assert!(matches!(error, StoreError::UsedBefore { .. }), "{error}");
            assert_eq!(error.to_string(), format!("{named} was used before for other content"));
        }
        assert_eq!(store.history(&one).await.unwrap().messages.len(), 1);
        assert_eq!(store.history(&two).await.unwrap().messages, []);
        // The failed writes left no gap.
        assert_eq!(accept(&store, new_message(&two, "m-9", "hello")).await.seq, 1);
    }

    #[test]
    async fn concurrent_deliveries_create_one_message(store: TestStore) {
        let again = store.open_again().await;
        let conversation = begin(&store, "c-1").await;
        let tasks: Vec<_> = (0..24).map(|index| {
            let store = if index % 2 == 0 { (*store).clone() } else { again.clone() };
            let new = new_message(&conversation, &format!("m-{index}"), "hello");
            tokio::spawn(async move { store.accept(new, key("signal", "k-1")).await.unwrap() })
        }).collect();
        let mut new = 0;
        for task in tasks {
            new += u32::from(matches!(task.await.unwrap(), AcceptOutcome::New(_)));
        }
        assert_eq!((new, store.history(&conversation).await.unwrap().messages.len()), (1, 1));
    }

    #[test]
    async fn key_used_in_two_conversations_works_once(store: TestStore) {
        let again = store.open_again().await;
        let (one, two) = (begin(&store, "c-1").await, begin(&store, "c-2").await);
        for round in 0..10 {
            let of_one = store.accept(new_message(&one, &format!("a-{round}"), "hello"), key("signal", &round.to_string()));
            let of_two = again.accept(new_message(&two, &format!("b-{round}"), "hello"), key("signal", &round.to_string()));
            let (of_one, of_two) = tokio::join!(of_one, of_two);
            let refused = [&of_one, &of_two].into_iter().filter_map(|result| result.as_ref().err()).collect::<Vec<_>>();
            assert!(matches!(refused[..], [StoreError::UsedBefore { .. }]), "{refused:?}");
        }
    }

    #[test]
    async fn concurrent_messages_are_numbered_without_gaps(store: TestStore) {
        let again = store.open_again().await;
        let conversation = begin(&store, "c-1").await;
        let tasks: Vec<_> = (0..40).map(|index| {
            let store = if index % 2 == 0 { (*store).clone() } else { again.clone() };
            let new = new_message(&conversation, &format!("m-{index}"), "hello");
            tokio::spawn(async move { store.accept(new, None).await.unwrap() })
        }).collect();
        for task in tasks {
            task.await.unwrap();
        }
        let all = store.all_messages(&conversation, MessagePage::after(0, 100)).await.unwrap();
        assert_eq!(seqs(&all), (1..=40).collect::<Vec<_>>());
    }

    #[test]
    async fn all_messages_are_paged_from_either_end(store: TestStore) {
        let conversation = begin(&store, "c-1").await;
        for index in 1..=5 {
            accept(&store, new_message(&conversation, &format!("m-{index}"), "hello")).await;
        }
        let read = |page| store.all_messages(&conversation, page);
        assert_eq!(seqs(&read(MessagePage::after(0, 3)).await.unwrap()), [1, 2, 3]);
        assert_eq!(seqs(&read(MessagePage::after(3, 3)).await.unwrap()), [4, 5]);
        assert_eq!(seqs(&read(MessagePage::newest(3)).await.unwrap()), [5, 4, 3]);
        assert_eq!(seqs(&read(MessagePage::before(3, 3)).await.unwrap()), [2, 1]);
        assert_eq!(read(MessagePage::after(5, 3)).await.unwrap(), []);
    }

    #[test]
    async fn only_untaken_user_messages_are_pending(store: TestStore) {
        let (late, early) = (begin(&store, "c-1").await, begin(&store, "c-2").await);
        let at = now().minus(Duration::from_secs(60));
        accept(&store, new_message(&late, "m-1", "first")).await;
        accept(&store, new_message(&late, "m-2", "second")).await;
        accept(&store, NewMessage { role: Role::Assistant, ..new_message(&late, "m-3", "answer") }).await;
        accept(&store, NewMessage { kind: Kind::Notice, ..new_message(&late, "m-4", "interrupted") }).await;
        accept(&store, NewMessage { turn: Some(TurnId::new("t-1").unwrap()), ..new_message(&late, "m-5", "taken") }).await;
        accept(&store, NewMessage { at, ..new_message(&early, "m-6", "third") }).await;
        begin(&store, "c-3").await;

        assert_eq!(seqs(&store.pending(&late).await.unwrap()), [1, 2]);
        assert_eq!(store.conversations_with_pending(9).await.unwrap(), [early.clone(), late]);
        assert_eq!(store.conversations_with_pending(1).await.unwrap(), [early]);
        assert_eq!(store.pending(&id("c-3")).await.unwrap(), []);
    }

    #[test]
    async fn turn_reads_no_message_written_above_its_trust(store: TestStore) {
        let conversation = begin(&store, "c-1").await;
        accept(&store, new_message(&conversation, "alice-m-1", "my pin is 1234")).await;
        accept(&store, NewMessage { trust: Trust::Familiar, ..new_message(&conversation, "m-2", "hello, all") }).await;
        let seen = store.history_at(&conversation, Trust::Familiar).await.unwrap().messages;
        assert_eq!(seqs(&seen), [1, 2]);
        assert_eq!(seen[0].message.content, [ContentBlock::text(WITHHELD)]);
        let shown = format!("{:?}", seen[0]);
        assert!(!shown.contains("alice") && !shown.contains("1234"), "{shown}");
        assert_eq!(seen[1].message.content, [ContentBlock::text("hello, all")]);
        let all = store.history(&conversation).await.unwrap();
        assert_eq!(store.history_at(&conversation, Trust::Full).await.unwrap(), all);
    }
}

fn any_block() -> impl Strategy<Value = ContentBlock> {
    let number = any::<f64>().prop_filter("JSON has none of these", |number| number.is_finite());
    prop_oneof![
        any::<String>().prop_map(ContentBlock::text),
        (any::<String>(), number.clone()).prop_map(|(name, number)| ContentBlock::ToolCall {
            id: CallId::new("call-1").unwrap(),
            input: serde_json::json!({ &name: number, "list": [null, true, name.clone()] }),
            name,
        }),
        (any::<String>(), any::<bool>()).prop_map(|(content, is_error)| ContentBlock::ToolResult {
            call: CallId::new("call-1").unwrap(),
            content,
            is_error,
        }),
        (any::<String>(), number).prop_map(|(text, number)| ContentBlock::Other(
            serde_json::json!({ "type": "text", "text": text, "at": number })
        )),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn messages_round_trip(content in proptest::collection::vec(any_block(), 0..8)) {
        on_sqlite(|store| async move {
            let conversation = begin(&store, "c-1").await;
            let new = NewMessage { content, ..new_message(&conversation, "m-1", "") };
            accept(&store, new.clone()).await;
            let read = store.history(&conversation).await.unwrap().messages;
            assert_eq!(read[0].message, new);
            assert!(matches!(store.accept(new, None).await.unwrap(), AcceptOutcome::Before(_)));
        });
    }
}
