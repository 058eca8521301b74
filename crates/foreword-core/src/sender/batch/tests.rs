//! Which messages are answered together and when, as tables and as a law.

use proptest::prelude::*;

use super::*;

/// The moment the tests look.
const NOW: u64 = 1_000;

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_micros(0).plus(std::time::Duration::from_secs(seconds))
}

/// A message of a sender with so many attempts, the last of which failed so many seconds ago.
fn message((index, (sender, attempts, ago)): (usize, (usize, u64, u64))) -> Waiting {
    Waiting {
        id: InboxId::new(format!("m-{index}")).unwrap(),
        sender: SenderAddress::new(&format!("s{sender}")).unwrap(),
        attempts,
        tried_at: (attempts > 0).then(|| at(NOW - ago)),
    }
}

/// Senders whose number is below four are two users with two addresses each; all others are strangers.
fn user_of(sender: &SenderAddress) -> Option<Arc<str>> {
    let number: usize = sender.as_str()[1..].parse().unwrap();
    (number < 4).then(|| format!("user{}", number / 2).into())
}

/// What is done about messages of (sender, attempts, seconds since the last).
fn next(waiting: &[(usize, u64, u64)], first: First) -> String {
    let waiting: Vec<Waiting> = waiting.iter().copied().enumerate().map(message).collect();
    match next_batch(&waiting, user_of, (at(NOW), first)) {
        Next::Nothing => "nothing".to_owned(),
        Next::NotBefore(due) => format!("in {} s", due.since(at(NOW)).as_secs()),
        Next::Now(batch) => {
            batch.messages.iter().map(|message| message.id.to_string()).collect::<Vec<_>>().join(" ")
        }
    }
}

#[test]
fn the_oldest_message_decides_whose_batch_it_is() {
    for (waiting, expected) in [
        (&[][..], "nothing"),
        // A stranger: strangers, and no user.
        (&[(4, 0, 0), (0, 0, 0), (5, 0, 0), (4, 0, 0)], "m-0 m-2 m-3"),
        // A user: that user from wherever they write, and nobody else.
        (&[(0, 0, 0), (4, 0, 0), (1, 0, 0), (2, 0, 0), (0, 0, 0)], "m-0 m-2 m-4"),
        // Nobody gets more than their share, in messages or in senders.
        (&[(4, 0, 0), (4, 0, 0), (4, 0, 0), (4, 0, 0), (4, 0, 0), (5, 0, 0)], "m-0 m-1 m-2 m-3 m-5"),
        (
            &[(4, 0, 0), (5, 0, 0), (6, 0, 0), (7, 0, 0), (8, 0, 0), (9, 0, 0), (4, 0, 0)],
            "m-0 m-1 m-2 m-3 m-4 m-6",
        ),
        // What has failed is tried by itself once its pause is over.
        (&[(4, 1, 60), (4, 0, 0), (5, 0, 0)], "m-0"),
        (&[(4, 0, 0), (4, 2, 60), (5, 0, 0)], "m-0 m-2"),
    ] {
        assert_eq!(next(waiting, First::Oldest), expected, "{waiting:?}");
    }
}

#[test]
fn while_a_message_waits_for_another_attempt_other_senders_are_answered() {
    for (waiting, expected) in [
        // It has failed a moment ago: the others' turn, and not its own sender's.
        (&[(4, 1, 1), (4, 0, 0), (5, 0, 0), (0, 0, 0)][..], "m-2"),
        (&[(4, 1, 1), (0, 0, 0), (5, 0, 0)], "m-1"),
        // Its pause is over to the second, and grows with each attempt.
        (&[(4, 1, 2), (5, 0, 0)], "m-0"),
        (&[(4, 4, 15), (5, 0, 0)], "m-1"),
        (&[(4, 4, 16), (5, 0, 0)], "m-0"),
        (&[(4, 70, 299), (5, 0, 0)], "m-1"),
        (&[(4, 70, 300), (5, 0, 0)], "m-0"),
        // A later message never overtakes one of the same sender, though that one stands behind a third.
        (&[(4, 0, 0), (4, 2, 1), (4, 0, 0), (5, 0, 0)], "m-0 m-3"),
        (&[(4, 0, 0), (4, 2, 60), (4, 0, 0), (5, 0, 0)], "m-0 m-3"),
        (&[(4, 1, 1), (4, 1, 60), (5, 0, 0)], "m-2"),
        // With nobody else there it is waited for the first of them.
        (&[(4, 3, 1), (5, 2, 1), (4, 0, 0), (6, 5, 1)], "in 3 s"),
    ] {
        assert_eq!(next(waiting, First::Oldest), expected, "{waiting:?}");
    }
}

#[test]
fn whether_anything_can_be_answered_is_asked_with_what_has_failed_least() {
    for (waiting, expected) in [
        (&[(4, 3, 60), (5, 1, 60), (0, 0, 0), (6, 0, 0)][..], "m-2"),
        (&[(4, 3, 60), (5, 1, 60), (6, 1, 60)], "m-1"),
        (&[(4, 3, 60), (5, 1, 1)], "m-0"),
        (&[(4, 1, 1), (4, 0, 0)], "in 1 s"),
    ] {
        assert_eq!(next(waiting, First::LeastTried), expected, "{waiting:?}");
    }
}

#[test]
fn a_message_has_three_attempts_each_time_it_is_put_back() {
    let aside: Vec<u64> = (0..=9).filter(|attempts| is_set_aside_after(*attempts)).collect();
    assert_eq!(aside, [3, 6, 9]);
}

/// What is wrong with a batch out of these, if anything is.
fn wrong(batch: &Batch, waiting: &[Waiting]) -> Option<&'static str> {
    let mut order = waiting.iter();
    for message in &batch.messages {
        let own = |other: &&Waiting| other.sender == message.sender;
        let before = waiting.iter().take_while(|other| *other != message).filter(own).count();
        let taken_before = batch.messages.iter().take_while(|other| *other != message).filter(own).count();
        let rules = [
            (user_of(&message.sender) == batch.user, "it mixes whom it may not"),
            (order.any(|next| next == message), "out of order, or twice"),
            (before == taken_before, "overtakes one of the same sender"),
            (batch.messages.iter().filter(own).count() <= BATCH_PER_SENDER, "too many of one sender"),
            (message.attempts == 0 || batch.messages.len() == 1, "what has failed is not by itself"),
        ];
        if let Some((_, what)) = rules.into_iter().find(|(holds, _)| !holds) {
            return Some(what);
        }
    }
    (batch.senders().len() > BATCH_SENDERS).then_some("too many senders")
}

proptest! {
    #[test]
    fn every_message_has_its_turn_and_no_batch_mixes_whom_it_may_not(
        senders in prop::collection::vec(
            (0..12_usize, prop_oneof![9 => Just(0_u64), 1 => 1..9_u64], 0..300_u64), 0..80
        ),
        first in prop_oneof![Just(First::Oldest), Just(First::LeastTried)],
    ) {
        let mut waiting: Vec<Waiting> = senders.into_iter().enumerate().map(message).collect();
        let (mut now, mut steps) = (at(NOW), 0);
        loop {
            match next_batch(&waiting, user_of, (now, first)) {
                Next::Nothing => break,
                Next::NotBefore(due) => {
                    prop_assert!(due > now);
                    now = due;
                }
                Next::Now(batch) => {
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
