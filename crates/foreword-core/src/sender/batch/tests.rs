//! Batches and their timing, as tables and as a property.

use proptest::prelude::*;

use super::*;

/// The current time of the tests.
const NOW: u64 = 1_000;

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_micros(0).plus(std::time::Duration::from_secs(seconds))
}

/// A message of a sender with this many attempts, the last of which failed this many seconds ago.
fn message(index: usize, sender: usize, attempts: u64, ago: u64) -> WaitingMessage {
    WaitingMessage {
        id: InboxId::new(format!("m-{index}")).unwrap(),
        sender: SenderAddress::new(&format!("s{sender}")).unwrap(),
        attempts,
        tried_at: (attempts > 0).then(|| at(NOW - ago)),
    }
}

/// Messages of (sender, attempts, seconds since the last).
fn messages(waiting: &[(usize, u64, u64)]) -> Vec<WaitingMessage> {
    let numbered = waiting.iter().enumerate();
    numbered.map(|(index, (sender, attempts, ago))| message(index, *sender, *attempts, *ago)).collect()
}

/// Senders below four are two users with two addresses each; all others are unknown.
fn user_of(sender: &SenderAddress) -> Option<Arc<str>> {
    let number: usize = sender.as_str()[1..].parse().unwrap();
    (number < 4).then(|| format!("user{}", number / 2).into())
}

/// The decision for these messages.
fn next(waiting: &[(usize, u64, u64)], first: BatchOrder) -> String {
    match next_batch(&messages(waiting), user_of, at(NOW), first) {
        NextBatch::Nothing => "nothing".to_owned(),
        NextBatch::NotBefore(due) => format!("in {} s", due.since(at(NOW)).as_secs()),
        NextBatch::Now(batch) => {
            batch.messages.iter().map(|message| message.id.to_string()).collect::<Vec<_>>().join(" ")
        }
    }
}

#[test]
fn oldest_message_determines_the_batch() {
    for (waiting, expected) in [
        (&[][..], "nothing"),
        // An unknown sender: only unknown senders, no user.
        (&[(4, 0, 0), (0, 0, 0), (5, 0, 0), (4, 0, 0)], "m-0 m-2 m-3"),
        // A user: only that user, from all addresses.
        (&[(0, 0, 0), (4, 0, 0), (1, 0, 0), (2, 0, 0), (0, 0, 0)], "m-0 m-2 m-4"),
        // The limits on messages and senders apply.
        (&[(4, 0, 0), (4, 0, 0), (4, 0, 0), (4, 0, 0), (4, 0, 0), (5, 0, 0)], "m-0 m-1 m-2 m-3 m-5"),
        (
            &[(4, 0, 0), (5, 0, 0), (6, 0, 0), (7, 0, 0), (8, 0, 0), (9, 0, 0), (4, 0, 0)],
            "m-0 m-1 m-2 m-3 m-4 m-6",
        ),
        // A failed message is retried alone after its pause.
        (&[(4, 1, 60), (4, 0, 0), (5, 0, 0)], "m-0"),
        (&[(4, 0, 0), (4, 2, 60), (5, 0, 0)], "m-0 m-2"),
    ] {
        assert_eq!(next(waiting, BatchOrder::Oldest), expected, "{waiting:?}");
    }
}

#[test]
fn other_senders_are_answered_during_a_pause() {
    for (waiting, expected) in [
        // It failed a moment ago: other senders are answered, its own sender is not.
        (&[(4, 1, 1), (4, 0, 0), (5, 0, 0), (0, 0, 0)][..], "m-2"),
        (&[(4, 1, 1), (0, 0, 0), (5, 0, 0)], "m-1"),
        // The pause ends to the second, and grows with each attempt.
        (&[(4, 1, 2), (5, 0, 0)], "m-0"),
        (&[(4, 4, 15), (5, 0, 0)], "m-1"),
        (&[(4, 4, 16), (5, 0, 0)], "m-0"),
        (&[(4, 70, 299), (5, 0, 0)], "m-1"),
        (&[(4, 70, 300), (5, 0, 0)], "m-0"),
        // A later message never overtakes one of the same sender.
        (&[(4, 0, 0), (4, 2, 1), (4, 0, 0), (5, 0, 0)], "m-0 m-3"),
        (&[(4, 0, 0), (4, 2, 60), (4, 0, 0), (5, 0, 0)], "m-0 m-3"),
        (&[(4, 1, 1), (4, 1, 60), (5, 0, 0)], "m-2"),
        // Without other messages, the next pause is awaited.
        (&[(4, 3, 1), (5, 2, 1), (4, 0, 0), (6, 5, 1)], "in 3 s"),
    ] {
        assert_eq!(next(waiting, BatchOrder::Oldest), expected, "{waiting:?}");
    }
}

#[test]
fn least_tried_message_is_the_probe() {
    for (waiting, expected) in [
        (&[(4, 3, 60), (5, 1, 60), (0, 0, 0), (6, 0, 0)][..], "m-2"),
        (&[(4, 3, 60), (5, 1, 60), (6, 1, 60)], "m-1"),
        (&[(4, 3, 60), (5, 1, 1)], "m-0"),
        (&[(4, 1, 1), (4, 0, 0)], "in 1 s"),
    ] {
        assert_eq!(next(waiting, BatchOrder::LeastTried), expected, "{waiting:?}");
    }
}

#[test]
fn requeued_message_gets_three_attempts() {
    let aside: Vec<u64> = (0..=9).filter(|attempts| is_set_aside_after(*attempts)).collect();
    assert_eq!(aside, [3, 6, 9]);
}

/// What is wrong with a batch, if anything.
fn wrong(batch: &MessageBatch, waiting: &[WaitingMessage]) -> Option<&'static str> {
    let mut order = waiting.iter();
    for message in &batch.messages {
        let own = |other: &&WaitingMessage| other.sender == message.sender;
        let before = waiting.iter().take_while(|other| *other != message).filter(own).count();
        let taken_before = batch.messages.iter().take_while(|other| *other != message).filter(own).count();
        let rules = [
            (user_of(&message.sender) == batch.user, "it mixes whom it may not"),
            (order.any(|next| next == message), "out of order, or twice"),
            (before == taken_before, "overtakes one of the same sender"),
            (
                batch.messages.iter().filter(own).count() <= MAX_BATCH_MESSAGES_PER_SENDER,
                "too many of one sender",
            ),
            (message.attempts == 0 || batch.messages.len() == 1, "what has failed is not by itself"),
        ];
        if let Some((_, what)) = rules.into_iter().find(|(holds, _)| !holds) {
            return Some(what);
        }
    }
    (batch.senders().len() > MAX_BATCH_SENDERS).then_some("too many senders")
}

proptest! {
    #[test]
    fn every_message_is_batched_and_users_are_never_mixed(
        senders in prop::collection::vec(
            (0..12_usize, prop_oneof![9 => Just(0_u64), 1 => 1..9_u64], 0..300_u64), 0..80
        ),
        first in prop_oneof![Just(BatchOrder::Oldest), Just(BatchOrder::LeastTried)],
    ) {
        let mut waiting = messages(&senders);
        let (mut now, mut steps) = (at(NOW), 0);
        loop {
            match next_batch(&waiting, user_of, now, first) {
                NextBatch::Nothing => break,
                NextBatch::NotBefore(due) => {
                    prop_assert!(due > now);
                    now = due;
                }
                NextBatch::Now(batch) => {
                    prop_assert_eq!(wrong(&batch, &waiting), None);
                    waiting.retain(|message| !batch.messages.contains(message));
                }
            }
            steps += 1;
            prop_assert!(steps <= 200, "messages are left over");
        }
        prop_assert!(waiting.is_empty());
    }
}
