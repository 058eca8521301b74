//! Which of the messages that wait a turn answers next. Looks only at a window of the oldest ones, so that it costs the
//! same however many others wait behind them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::SenderAddress;
use crate::id::InboxId;

/// How many of the oldest messages are looked at.
pub const BATCH_WINDOW: u64 = 256;
/// The most senders in one batch.
pub const BATCH_SENDERS: usize = 5;
/// The most messages of one sender in a batch: the others have their turn too.
pub const BATCH_PER_SENDER: usize = 4;
/// How many turns may fail by a message's own fault before it is set aside.
pub const ATTEMPTS_BEFORE_ASIDE: u64 = 3;

/// A message that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Which.
    pub id: InboxId,
    /// From whom.
    pub sender: SenderAddress,
    /// How many turns have failed over it.
    pub attempts: u64,
}

/// The messages of one turn: those of one known user, or those of a few strangers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The known user, if it is one.
    pub user: Option<Arc<str>>,
    /// The messages, in the order they came.
    pub messages: Vec<Waiting>,
}

impl Batch {
    /// The senders, in the order of their first message.
    #[must_use]
    pub fn senders(&self) -> Vec<SenderAddress> {
        let mut seen = BTreeSet::new();
        let mut senders: Vec<SenderAddress> =
            self.messages.iter().map(|message| message.sender.clone()).collect();
        senders.retain(|sender| seen.insert(sender.clone()));
        senders
    }
}

/// The next batch out of `waiting`, the oldest first; `user_of` says who is known. `None` if nothing waits.
///
/// The oldest message is always in it. A message over which a turn has failed is tried again by itself: if it is the
/// reason, nobody else's fails with it.
///
/// ```
/// use foreword_core::id::InboxId;
/// use foreword_core::sender::{SenderAddress, Waiting, next_batch};
/// let message = |id: &str, sender: &str| Waiting {
///     id: InboxId::new(id).unwrap(),
///     sender: SenderAddress::new(sender).unwrap(),
///     attempts: 0,
/// };
/// let waiting = [message("m-1", "0xa"), message("m-2", "alice"), message("m-3", "0xb"), message("m-4", "0xa")];
/// let batch = next_batch(&waiting, |sender| (sender.as_str() == "alice").then(|| "alice".into())).unwrap();
/// let ids: Vec<&str> = batch.messages.iter().map(|message| message.id.as_str()).collect();
/// assert_eq!((batch.user, ids), (None, vec!["m-1", "m-3", "m-4"]));
/// ```
#[must_use]
pub fn next_batch(
    waiting: &[Waiting],
    user_of: impl Fn(&SenderAddress) -> Option<Arc<str>>,
) -> Option<Batch> {
    let first = waiting.first()?;
    let user = user_of(&first.sender);
    if first.attempts > 0 {
        return Some(Batch { user, messages: vec![first.clone()] });
    }
    let mut taken: BTreeMap<&SenderAddress, usize> = BTreeMap::new();
    let mut messages = Vec::new();
    for message in waiting.iter().filter(|message| message.attempts == 0) {
        let is_new = !taken.contains_key(&message.sender);
        if (is_new && taken.len() >= BATCH_SENDERS) || user_of(&message.sender) != user {
            continue;
        }
        let count = taken.entry(&message.sender).or_default();
        if *count < BATCH_PER_SENDER {
            *count += 1;
            messages.push(message.clone());
        }
    }
    Some(Batch { user, messages })
}

/// Whether a message is set aside once so many turns have failed by its own fault. One that is put back has as many
/// attempts as the first time.
#[must_use]
pub fn is_set_aside_after(failures: u64) -> bool {
    failures > 0 && failures.is_multiple_of(ATTEMPTS_BEFORE_ASIDE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message((index, (sender, attempts)): (usize, (usize, u64))) -> Waiting {
        Waiting {
            id: InboxId::new(format!("m-{index}")).unwrap(),
            sender: SenderAddress::new(&format!("s{sender}")).unwrap(),
            attempts,
        }
    }

    /// Senders whose number is below four are two users with two addresses each; all others are strangers.
    fn user_of(sender: &SenderAddress) -> Option<Arc<str>> {
        let number: usize = sender.as_str()[1..].parse().unwrap();
        (number < 4).then(|| format!("user{}", number / 2).into())
    }

    fn ids(waiting: &[(usize, u64)]) -> Vec<String> {
        let waiting: Vec<Waiting> = waiting.iter().copied().enumerate().map(message).collect();
        let batch = next_batch(&waiting, user_of).map(|batch| batch.messages).unwrap_or_default();
        batch.iter().map(|message| message.id.to_string()).collect()
    }

    #[test]
    fn the_oldest_message_decides_whose_batch_it_is() {
        for (waiting, expected) in [
            (&[][..], &[][..]),
            // A stranger: strangers, and no user.
            (&[(4, 0), (0, 0), (5, 0), (4, 0)], &["m-0", "m-2", "m-3"]),
            // A user: that user from wherever they write, and nobody else.
            (&[(0, 0), (4, 0), (1, 0), (2, 0), (0, 0)], &["m-0", "m-2", "m-4"]),
            // Nobody gets more than their share, in messages or in senders.
            (&[(4, 0), (4, 0), (4, 0), (4, 0), (4, 0), (5, 0)], &["m-0", "m-1", "m-2", "m-3", "m-5"]),
            (
                &[(4, 0), (5, 0), (6, 0), (7, 0), (8, 0), (9, 0), (4, 0)],
                &["m-0", "m-1", "m-2", "m-3", "m-4", "m-6"],
            ),
            // What has failed is tried by itself, and holds nobody else up.
            (&[(4, 1), (4, 0), (5, 0)], &["m-0"]),
            (&[(4, 0), (4, 2), (5, 0)], &["m-0", "m-2"]),
        ] {
            assert_eq!(ids(waiting), expected, "{waiting:?}");
        }
    }

    #[test]
    fn a_message_has_three_attempts_each_time_it_is_put_back() {
        let aside: Vec<u64> = (0..=9).filter(|attempts| is_set_aside_after(*attempts)).collect();
        assert_eq!(aside, [3, 6, 9]);
    }

    proptest! {
        #[test]
        fn every_message_has_its_turn_and_no_batch_mixes_whom_it_may_not(
            senders in prop::collection::vec((0..12_usize, prop_oneof![9 => Just(0_u64), 1 => 1..3_u64]), 0..80),
        ) {
            let mut waiting: Vec<Waiting> = senders.into_iter().enumerate().map(message).collect();
            let mut batches = 0;
            while let Some(batch) = next_batch(&waiting, user_of) {
                prop_assert_eq!(&batch.messages[0], &waiting[0]);
                prop_assert!(batch.senders().len() <= BATCH_SENDERS);
                let mut order = waiting.iter();
                for message in &batch.messages {
                    prop_assert_eq!(user_of(&message.sender), batch.user.clone());
                    prop_assert!(order.any(|next| next == message), "out of order, or twice");
                    let same = batch.messages.iter().filter(|other| other.sender == message.sender).count();
                    prop_assert!(same <= BATCH_PER_SENDER);
                    prop_assert!(message.attempts == 0 || batch.messages.len() == 1);
                }
                waiting.retain(|message| !batch.messages.contains(message));
                batches += 1;
                prop_assert!(batches <= 80, "messages are left over");
            }
            prop_assert!(waiting.is_empty());
        }
    }
}
