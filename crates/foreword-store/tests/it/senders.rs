//! The history of senders: limits, shortening, and eviction.

use std::collections::BTreeSet;
use std::time::Duration;

use foreword_core::id::{InboxId, TurnId};
use foreword_core::sender::{HistoryLimits, SenderAddress, SenderExchange, SkipReason, SkippedSender};
use foreword_core::timestamp::Timestamp;
use foreword_store::senders::{RecordedExchanges, TurnExchanges};
use foreword_store::store::Store;

use crate::contract::{contract, now};

fn address(text: &str) -> SenderAddress {
    SenderAddress::new(text).unwrap()
}

fn minute(minutes: u64) -> Timestamp {
    now().plus(Duration::from_secs(minutes * 60))
}

fn exchange(id: &str, sender: &str, at: Timestamp) -> SenderExchange {
    SenderExchange {
        inbox_message: InboxId::new(id).unwrap(),
        sender: address(sender),
        body: format!("{id}?"),
        reply: Some(format!("{id}!")),
        turn: TurnId::new("t-1").unwrap(),
        at,
    }
}

/// Exchanges of one turn, with one sender each.
fn turn(senders: &[&str], at: Timestamp) -> TurnExchanges {
    let exchange = |sender: &&str| exchange(&format!("{sender}-{at}"), sender, at);
    TurnExchanges::new(senders.iter().map(exchange).collect(), at)
}

async fn known(store: &Store) -> Vec<String> {
    store.senders(None, 1_000).await.unwrap().iter().map(|sender| sender.address.to_string()).collect()
}

fn names(senders: &[SenderAddress]) -> Vec<&str> {
    senders.iter().map(SenderAddress::as_str).collect()
}

contract! {
    #[test]
    async fn sender_address_is_normalised(store: TestStore) {
        let first = exchange("m-1", " 0xABCDEF ", minute(0));
        let second = SenderExchange { reply: None, ..exchange("m-2", "0xabcdef", minute(1)) };
        store.record_exchanges(TurnExchanges::new(vec![first.clone()], minute(0))).await.unwrap();
        store.record_exchanges(TurnExchanges::new(vec![second.clone()], minute(1))).await.unwrap();
        let history = store.open_again().await.sender(&address("0XABCdef")).await.unwrap().unwrap();
        assert_eq!(history.exchanges, [first, second]);
        assert_eq!(history.sender.address.as_str(), "0xabcdef");
        assert_eq!((history.sender.first_seen, history.sender.last_activity), (minute(0), minute(1)));
        assert_eq!(store.sender(&address("bob")).await.unwrap(), None);
    }

    #[test]
    async fn repeated_exchange_changes_nothing(store: TestStore) {
        let batch = turn(&["alice", "bob"], minute(0));
        let first = store.record_exchanges(batch.clone()).await.unwrap();
        assert_eq!(names(&first.admitted), ["alice", "bob"]);
        let before = store.sender(&address("alice")).await.unwrap();
        let again = TurnExchanges { at: minute(9), ..batch };
        assert_eq!(store.record_exchanges(again.clone()).await.unwrap(), RecordedExchanges::default());
        let twice = TurnExchanges { exchanges: [again.exchanges.clone(), again.exchanges].concat(), ..turn(&[], minute(9)) };
        assert_eq!(store.record_exchanges(twice).await.unwrap(), RecordedExchanges::default());
        assert_eq!(store.sender(&address("alice")).await.unwrap(), before);
    }

    #[test]
    async fn only_the_newest_exchanges_of_a_sender_are_stored(store: TestStore) {
        let exchanges: Vec<_> = (0..25).map(|n| exchange(&format!("m-{n}"), "alice", minute(n))).collect();
        store.record_exchanges(TurnExchanges::new(exchanges[..10].to_vec(), minute(10))).await.unwrap();
        store.record_exchanges(TurnExchanges::new(exchanges[10..].to_vec(), minute(25))).await.unwrap();
        let history = store.sender(&address("alice")).await.unwrap().unwrap();
        assert_eq!(history.exchanges, exchanges[5..]);
        assert_eq!(history.sender.exchanges, 20);
        let lower = HistoryLimits { exchanges_per_sender: 2, ..HistoryLimits::default() };
        let last = exchange("m-25", "alice", minute(26));
        store.record_exchanges(TurnExchanges { limits: lower, ..TurnExchanges::new(vec![last.clone()], minute(26)) }).await.unwrap();
        assert_eq!(store.sender(&address("alice")).await.unwrap().unwrap().exchanges, [exchanges[24].clone(), last]);
    }

    #[test]
    async fn long_texts_are_truncated_and_zero_bytes_replaced(store: TestStore) {
        let long = SenderExchange {
            body: "ä".repeat(501),
            reply: Some(format!("\0{}", "x".repeat(9_999))),
            ..exchange("m-1", "alice", now())
        };
        store.record_exchanges(TurnExchanges::new(vec![long], now())).await.unwrap();
        let kept = &store.sender(&address("alice")).await.unwrap().unwrap().exchanges[0];
        assert!((490..=500).contains(&kept.body.chars().count()), "{}", kept.body);
        assert!(kept.body.starts_with("ää") && kept.body.ends_with("… [24 more characters]"), "{}", kept.body);
        let reply = kept.reply.as_deref().unwrap();
        assert!(reply.starts_with("\u{FFFD}x") && reply.ends_with("more characters]"), "{reply}");
        assert!((490..=500).contains(&reply.chars().count()), "{reply}");
    }

    #[test]
    async fn longest_inactive_sender_is_evicted(store: TestStore) {
        let limits = HistoryLimits { senders: 3, ..HistoryLimits::default() };
        for (number, name) in ["alice", "bob", "carol"].into_iter().enumerate() {
            store.record_exchanges(turn(&[name], minute(number as u64))).await.unwrap();
        }
        store.record_exchanges(turn(&["alice"], minute(5))).await.unwrap();
        let new = TurnExchanges { limits, ..turn(&["dave"], minute(6)) };
        let recorded = store.record_exchanges(new).await.unwrap();
        assert_eq!((names(&recorded.evicted), names(&recorded.admitted)), (vec!["bob"], vec!["dave"]));
        assert_eq!(known(&store).await, ["dave", "alice", "carol"]);
        // Bob's history was evicted, and his next message starts a new one.
        assert_eq!(store.sender(&address("bob")).await.unwrap(), None);
        store.record_exchanges(TurnExchanges { limits, ..turn(&["bob"], minute(7)) }).await.unwrap();
        assert_eq!(store.sender(&address("bob")).await.unwrap().unwrap().exchanges.len(), 1);
    }

    #[test]
    async fn active_senders_are_not_evicted(store: TestStore) {
        let limits = HistoryLimits { senders: 2, ..HistoryLimits::default() };
        store.record_exchanges(turn(&["alice"], minute(0))).await.unwrap();
        store.record_exchanges(turn(&["bob"], minute(1))).await.unwrap();
        let active = BTreeSet::from([address("alice")]);
        let new = TurnExchanges { limits, active, ..turn(&["bob", "carol"], minute(2)) };
        let recorded = store.record_exchanges(new).await.unwrap();
        assert_eq!(recorded.not_kept, [SkippedSender { sender: address("carol"), reason: SkipReason::NoRoom }]);
        assert_eq!(known(&store).await, ["bob", "alice"]);
    }

    #[test]
    async fn burst_of_new_senders_does_not_evict_others(store: TestStore) {
        let limits = HistoryLimits { senders: 10, new_senders_per_hour: 3, ..HistoryLimits::default() };
        let old: Vec<String> = (0..10).map(|number| format!("friend-{number}")).collect();
        let old: Vec<&str> = old.iter().map(String::as_str).collect();
        store.record_exchanges(turn(&old, minute(0))).await.unwrap();
        let mut refused = 0;
        for wave in 0..5_u64 {
            let strangers: Vec<String> = (0..20).map(|number| format!("mallory-{wave}-{number}")).collect();
            let strangers: Vec<&str> = strangers.iter().map(String::as_str).collect();
            let recorded =
                store.record_exchanges(TurnExchanges { limits, ..turn(&strangers, minute(120 + wave)) }).await.unwrap();
            refused += recorded.not_kept.len();
            assert!(recorded.not_kept.iter().all(|not| not.reason == SkipReason::TooManyNewSenders));
        }
        assert_eq!(refused, 97);
        let friends = known(&store).await.iter().filter(|name| name.starts_with("friend")).count();
        assert_eq!(friends, 7);
        // Known senders are still recorded, and after an hour new ones are admitted again.
        let friend = TurnExchanges { limits, ..turn(&["friend-9"], minute(125)) };
        assert_eq!(store.record_exchanges(friend).await.unwrap(), RecordedExchanges::default());
        let later = TurnExchanges { limits, ..turn(&["carol"], minute(181)) };
        assert_eq!(names(&store.record_exchanges(later).await.unwrap().admitted), ["carol"]);
    }

    #[test]
    async fn evicted_new_senders_count_as_admissions(store: TestStore) {
        let limits = HistoryLimits { senders: 1, new_senders_per_hour: 2, ..HistoryLimits::default() };
        for (minutes, name, admitted) in [(0, "alice", 1), (1, "bob", 1), (2, "carol", 0), (60, "carol", 1)] {
            let recorded =
                store.record_exchanges(TurnExchanges { limits, ..turn(&[name], minute(minutes)) }).await.unwrap();
            assert_eq!(recorded.admitted.len(), admitted, "{name}");
        }
    }

    #[test]
    async fn sender_activity_never_decreases(store: TestStore) {
        store.record_exchanges(turn(&["alice"], minute(30))).await.unwrap();
        store.record_exchanges(turn(&["alice"], minute(10))).await.unwrap();
        let history = store.sender(&address("alice")).await.unwrap().unwrap();
        assert_eq!(history.sender.last_activity, minute(30));
        // Ordered by recording, not by time.
        assert_eq!(history.exchanges.iter().map(|exchange| exchange.at).collect::<Vec<_>>(), [minute(30), minute(10)]);
    }

    #[test]
    async fn recent_exchanges_are_returned_oldest_first(store: TestStore) {
        for number in 0..8 {
            store.record_exchanges(turn(&["alice", "bob", "carol"], minute(number))).await.unwrap();
        }
        let asked = BTreeSet::from([address("carol"), address("alice"), address("nobody")]);
        let recent = store.recent_exchanges(&asked, 5).await.unwrap();
        assert_eq!(recent.keys().map(SenderAddress::as_str).collect::<Vec<_>>(), ["alice", "carol"]);
        for exchanges in recent.values() {
            assert_eq!(exchanges.iter().map(|exchange| exchange.at).collect::<Vec<_>>(), [3, 4, 5, 6, 7].map(minute));
        }
    }

    #[test]
    async fn search_finds_senders_by_address_and_exchanges(store: TestStore) {
        let said = [("0xa11ce", "Is the Ölmühle open?", Some("100% sure.")), ("bob", "Hello.", None), ("b_b", "Hi!", Some("İyi, 日本, Привет"))];
        for (number, (who, body, reply)) in (0_u64..).zip(said) {
            let at = minute(number);
            let (body, reply) = (body.to_owned(), reply.map(str::to_owned));
            let one = SenderExchange { body, reply, ..exchange(&format!("m-{number}"), who, at) };
            store.record_exchanges(TurnExchanges::new(vec![one], at)).await.unwrap();
        }
        let cases: [(&str, &[&str]); 10] = [
            ("日本", &["b_b"]),
            ("İY", &["b_b"]),
            ("привет", &["b_b"]),
            ("B", &["b_b", "bob"]),
            ("b_b", &["b_b"]),
            ("0XA11", &["0xa11ce"]),
            ("öLMÜHLE", &["0xa11ce"]),
            ("100%", &["0xa11ce"]),
            ("h", &["b_b", "bob", "0xa11ce"]),
            ("nobody", &[]),
        ];
        for (words, expected) in cases {
            let (mut listed, mut after) = (Vec::new(), None);
            loop {
                let page = store.senders_with(words, after.as_ref(), 1).await.unwrap();
                let Some(last) = page.last() else { break };
                after = Some(last.clone());
                listed.extend(page.into_iter().map(|sender| sender.address.to_string()));
            }
            assert_eq!(listed, expected, "{words}");
        }
    }

    #[test]
    async fn senders_are_paged_by_activity(store: TestStore) {
        // Some have the same time and are ordered by address.
        for number in 0..9_u64 {
            store.record_exchanges(turn(&[&format!("sender-{number}")], minute(number / 3))).await.unwrap();
        }
        let (mut listed, mut after) = (Vec::new(), None);
        loop {
            let page = store.senders(after.as_ref(), 2).await.unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.clone());
            listed.extend(page);
        }
        assert_eq!(listed, store.senders(None, 100).await.unwrap());
        assert_eq!(listed.len(), 9);
        assert!(listed.is_sorted_by(|a, b| a.last_activity >= b.last_activity));
    }

    #[test]
    async fn concurrent_turns_respect_the_sender_limits(store: TestStore) {
        let limits = HistoryLimits { senders: 4, new_senders_per_hour: 6, exchanges_per_sender: 3, ..HistoryLimits::default() };
        let other = store.open_again().await;
        let tasks: Vec<_> = (0..24_u64)
            .map(|number| {
                let store = if number.is_multiple_of(2) { Store::clone(&store) } else { other.clone() };
                let batch = TurnExchanges {
                    limits,
                    ..turn(&[&format!("sender-{}", number % 8)], now().plus(Duration::from_secs(number)))
                };
                tokio::spawn(async move { store.record_exchanges(batch).await.unwrap() })
            })
            .collect();
        let mut admitted = 0;
        for task in tasks {
            admitted += task.await.unwrap().admitted.len();
        }
        assert!(admitted <= 6, "{admitted}");
        let senders = store.senders(None, 100).await.unwrap();
        assert!(senders.len() <= 4 && senders.iter().all(|sender| (1..=3).contains(&sender.exchanges)), "{senders:?}");
    }
}
