//! Which of the messages that wait a turn answers next. Looks only at a window of the oldest ones, so that it costs the
//! same however many others wait behind them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::SenderAddress;
use super::pause::{First, not_before};
use crate::id::InboxId;
use crate::timestamp::Timestamp;

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
    /// When the last of them did; nothing if it is to be tried at once.
    pub tried_at: Option<Timestamp>,
}

/// What is to be done about the messages that wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// None waits.
    Nothing,
    /// All that wait are waiting for another attempt, the first of them until then.
    NotBefore(Timestamp),
    /// These are answered.
    Now(Batch),
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

/// The next batch out of `waiting`, the oldest first; `user_of` says who is known.
///
/// A message over which a turn has failed is tried again by itself: if it is the reason, nobody else's fails with it. Until
/// it is, those of other senders are answered; its own sender's later ones stay behind it.
///
/// ```
/// use foreword_core::id::InboxId;
/// use foreword_core::sender::{First, Next, SenderAddress, Waiting, next_batch};
/// use foreword_core::timestamp::Timestamp;
/// let message = |id: &str, sender: &str| Waiting {
///     id: InboxId::new(id).unwrap(),
///     sender: SenderAddress::new(sender).unwrap(),
///     attempts: 0,
///     tried_at: None,
/// };
/// let waiting = [message("m-1", "0xa"), message("m-2", "alice"), message("m-3", "0xb"), message("m-4", "0xa")];
/// let known = |sender: &SenderAddress| (sender.as_str() == "alice").then(|| "alice".into());
/// let next = next_batch(&waiting, known, (Timestamp::from_micros(0), First::Oldest));
/// let Next::Now(batch) = next else { panic!("{next:?}") };
/// let ids: Vec<&str> = batch.messages.iter().map(|message| message.id.as_str()).collect();
/// assert_eq!((batch.user, ids), (None, vec!["m-1", "m-3", "m-4"]));
/// ```
#[must_use]
pub fn next_batch(
    waiting: &[Waiting],
    user_of: impl Fn(&SenderAddress) -> Option<Arc<str>>,
    (now, first): (Timestamp, First),
) -> Next {
    let (ready, soonest) = ready(waiting, now);
    let chosen = match first {
        First::Oldest => ready.first(),
        First::LeastTried => ready.iter().min_by_key(|message| message.attempts),
    };
    let Some(chosen) = chosen else { return soonest.map_or(Next::Nothing, Next::NotBefore) };
    let user = user_of(&chosen.sender);
    if chosen.attempts > 0 {
        return Next::Now(Batch { user, messages: vec![Waiting::clone(chosen)] });
    }
    let mut taken: BTreeMap<&SenderAddress, usize> = BTreeMap::new();
    let mut messages = Vec::new();
    for message in ready.into_iter().filter(|message| message.attempts == 0) {
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
    Next::Now(Batch { user, messages })
}

/// The messages that may be tried now, and when the first of the others may be. Behind one that has failed none of the same
/// sender is, whether that one may be tried now or not: it would overtake it.
fn ready(waiting: &[Waiting], now: Timestamp) -> (Vec<&Waiting>, Option<Timestamp>) {
    let (mut ready, mut soonest) = (Vec::new(), None);
    let mut closed: BTreeSet<&SenderAddress> = BTreeSet::new();
    for message in waiting {
        if closed.contains(&message.sender) {
            continue;
        }
        if message.attempts > 0 {
            closed.insert(&message.sender);
        }
        match not_before((message.tried_at, message.attempts), now) {
            None => ready.push(message),
            Some(later) => soonest = Some(soonest.map_or(later, |soonest: Timestamp| soonest.min(later))),
        }
    }
    (ready, soonest)
}

/// Whether a message is set aside once so many turns have failed by its own fault. One that is put back has as many
/// attempts as the first time.
#[must_use]
pub fn is_set_aside_after(failures: u64) -> bool {
    failures > 0 && failures.is_multiple_of(ATTEMPTS_BEFORE_ASIDE)
}

#[cfg(test)]
mod tests;
