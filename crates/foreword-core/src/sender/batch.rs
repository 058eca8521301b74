//! Chooses the waiting messages that the next turn answers. Only a window of the oldest ones is considered, so that the
//! cost does not depend on the length of the queue.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::SenderAddress;
use super::retry_pause::{BatchOrder, not_before};
use crate::id::InboxId;
use crate::timestamp::Timestamp;

/// How many of the oldest messages are considered.
pub const BATCH_WINDOW: u64 = 256;
/// The maximum number of senders in a batch.
pub const MAX_BATCH_SENDERS: usize = 5;
/// The maximum number of messages of one sender in a batch, so that other senders get their share.
pub const MAX_BATCH_MESSAGES_PER_SENDER: usize = 4;
/// How many turns may fail because of a message before it is set aside.
pub const MAX_ATTEMPTS: u64 = 3;

/// A waiting message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingMessage {
    /// The message.
    pub id: InboxId,
    /// The sender.
    pub sender: SenderAddress,
    /// The number of failed turns.
    pub attempts: u64,
    /// When the last of them failed; `None` to try at once.
    pub tried_at: Option<Timestamp>,
}

/// What to do about the waiting messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextBatch {
    /// No message waits.
    Nothing,
    /// All waiting messages are paused, the first of them until then.
    NotBefore(Timestamp),
    /// Answer these.
    Now(MessageBatch),
}

/// The messages of one turn: those of one known user, or of several unknown senders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageBatch {
    /// The known user, if any.
    pub user: Option<Arc<str>>,
    /// The messages, in order of arrival.
    pub messages: Vec<WaitingMessage>,
}

impl MessageBatch {
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

/// The next batch out of `waiting`, the oldest first. `user_of` maps a sender to a known user.
///
/// A message with a failed turn is retried alone, so that it cannot make other messages fail. Until then other senders
/// are answered; later messages of the same sender wait.
///
/// ```
/// use foreword_core::id::InboxId;
/// use foreword_core::sender::{BatchOrder, NextBatch, SenderAddress, WaitingMessage, next_batch};
/// use foreword_core::timestamp::Timestamp;
/// let message = |id: &str, sender: &str| WaitingMessage {
///     id: InboxId::new(id).unwrap(),
///     sender: SenderAddress::new(sender).unwrap(),
///     attempts: 0,
///     tried_at: None,
/// };
/// let waiting = [message("m-1", "0xa"), message("m-2", "alice"), message("m-3", "0xb"), message("m-4", "0xa")];
/// let known = |sender: &SenderAddress| (sender.as_str() == "alice").then(|| "alice".into());
/// let next = next_batch(&waiting, known, Timestamp::from_micros(0), BatchOrder::Oldest);
/// let NextBatch::Now(batch) = next else { panic!("{next:?}") };
/// let ids: Vec<&str> = batch.messages.iter().map(|message| message.id.as_str()).collect();
/// assert_eq!((batch.user, ids), (None, vec!["m-1", "m-3", "m-4"]));
/// ```
#[must_use]
pub fn next_batch(
    waiting: &[WaitingMessage],
    user_of: impl Fn(&SenderAddress) -> Option<Arc<str>>,
    now: Timestamp,
    first: BatchOrder,
) -> NextBatch {
    let (ready, soonest) = ready(waiting, now);
    let chosen = match first {
        BatchOrder::Oldest => ready.first(),
        BatchOrder::LeastTried => ready.iter().min_by_key(|message| message.attempts),
    };
    let Some(chosen) = chosen else { return soonest.map_or(NextBatch::Nothing, NextBatch::NotBefore) };
    let user = user_of(&chosen.sender);
    if chosen.attempts > 0 {
        return NextBatch::Now(MessageBatch { user, messages: vec![WaitingMessage::clone(chosen)] });
    }
    let mut taken: BTreeMap<&SenderAddress, usize> = BTreeMap::new();
    let mut messages = Vec::new();
    for message in ready.into_iter().filter(|message| message.attempts == 0) {
        let is_new = !taken.contains_key(&message.sender);
        if (is_new && taken.len() >= MAX_BATCH_SENDERS) || user_of(&message.sender) != user {
            continue;
        }
        let count = taken.entry(&message.sender).or_default();
        if *count < MAX_BATCH_MESSAGES_PER_SENDER {
            *count += 1;
            messages.push(message.clone());
        }
    }
    NextBatch::Now(MessageBatch { user, messages })
}

/// The messages that may be tried now, and when the next of the others may be. A message never overtakes a failed one
/// of the same sender.
fn ready(waiting: &[WaitingMessage], now: Timestamp) -> (Vec<&WaitingMessage>, Option<Timestamp>) {
    let (mut ready, mut soonest) = (Vec::new(), None);
    let mut closed: BTreeSet<&SenderAddress> = BTreeSet::new();
    for message in waiting {
        if closed.contains(&message.sender) {
            continue;
        }
        if message.attempts > 0 {
            closed.insert(&message.sender);
        }
        match not_before(message.tried_at, message.attempts, now) {
            None => ready.push(message),
            Some(later) => soonest = Some(soonest.map_or(later, |soonest: Timestamp| soonest.min(later))),
        }
    }
    (ready, soonest)
}

/// Whether a message is set aside after this many failures. A message that is put back gets the same number of attempts
/// again.
#[must_use]
pub fn is_set_aside_after(failures: u64) -> bool {
    failures > 0 && failures.is_multiple_of(MAX_ATTEMPTS)
}

#[cfg(test)]
mod tests;
