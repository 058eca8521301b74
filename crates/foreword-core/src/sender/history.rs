//! Decides which senders have a history and what it contains. Senders without an answer have none; a burst of new
//! senders cannot evict the others; senders of the current turn stay.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{SenderAddress, SenderExchange};
use crate::id::{InboxId, TurnId};
use crate::timestamp::Timestamp;

/// Limits on sender histories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryLimits {
    /// Exchanges per sender; the oldest are removed first.
    pub exchanges_per_sender: u64,
    /// The number of senders; the least recently active are removed first.
    pub senders: usize,
    /// Characters per message or answer.
    pub characters: usize,
    /// New senders per hour.
    pub new_senders_per_hour: usize,
}

impl HistoryLimits {
    /// The window for counting new senders.
    pub const WINDOW: Duration = Duration::from_secs(60 * 60);
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self { exchanges_per_sender: 20, senders: 200, characters: 500, new_senders_per_hour: 20 }
    }
}

/// A sender with a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSender {
    /// The sender's address.
    pub address: SenderAddress,
    /// The time of the last exchange; it never decreases.
    pub last_activity: Timestamp,
}

/// The current state when new exchanges are added.
#[derive(Debug, Clone, Copy)]
pub struct Senders<'a> {
    /// All senders with a history.
    pub known: &'a [KnownSender],
    /// When new senders were admitted.
    pub admissions: &'a [Timestamp],
    /// The senders of the current turn, with or without an exchange.
    pub active: &'a BTreeSet<SenderAddress>,
    /// The current time.
    pub now: Timestamp,
}

/// Which senders are admitted, skipped and evicted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SenderPlan {
    /// New senders that are admitted.
    pub admitted: Vec<SenderAddress>,
    /// New senders that are not.
    pub not_kept: Vec<SkippedSender>,
    /// Senders whose history is removed.
    pub evicted: Vec<SenderAddress>,
}

/// A sender whose exchanges are not stored. The messages stay in the inbox and the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedSender {
    /// The sender.
    pub sender: SenderAddress,
    /// The reason.
    pub reason: SkipReason,
}

/// Why a sender's exchanges are not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// Too many new senders within an hour.
    TooManyNewSenders,
    /// All places are taken by senders of the current turn.
    NoRoom,
}

/// Plans the histories for the senders of new exchanges, in order of arrival.
///
/// ```
/// use std::collections::BTreeSet;
/// use foreword_core::sender::{HistoryLimits, KnownSender, SenderAddress, Senders, plan_senders};
/// let address = |text: &str| SenderAddress::new(text).unwrap();
/// let at = |text: &str| text.parse().unwrap();
/// let known = [
///     KnownSender { address: address("alice"), last_activity: at("2026-11-16T08:00:00Z") },
///     KnownSender { address: address("bob"), last_activity: at("2026-11-16T07:00:00Z") },
/// ];
/// let (active, now) = (BTreeSet::new(), at("2026-11-16T09:00:00Z"));
/// let senders = Senders { known: &known, admissions: &[], active: &active, now };
/// let limits = HistoryLimits { senders: 2, ..HistoryLimits::default() };
/// let plan = plan_senders(&limits, senders, &[address("carol")]);
/// assert_eq!((plan.admitted, plan.evicted), (vec![address("carol")], vec![address("bob")]));
/// ```
#[must_use]
pub fn plan_senders(limits: &HistoryLimits, senders: Senders<'_>, wanted: &[SenderAddress]) -> SenderPlan {
    let stays: BTreeSet<&SenderAddress> = senders.active.iter().chain(wanted).collect();
    let mut oldest: Vec<&KnownSender> =
        senders.known.iter().filter(|sender| !stays.contains(&sender.address)).collect();
    oldest.sort_by_key(|sender| (sender.last_activity, &sender.address));
    let mut oldest = oldest.into_iter().map(|sender| sender.address.clone());
    let mut quota = limits.new_senders_per_hour.saturating_sub(lately(senders.admissions, senders.now));
    let mut plan = SenderPlan::default();
    // There can be too many already, if the limit was lowered.
    plan.evicted.extend(oldest.by_ref().take(senders.known.len().saturating_sub(limits.senders)));
    let mut count = senders.known.len() - plan.evicted.len();
    let mut seen: BTreeSet<&SenderAddress> = senders.known.iter().map(|sender| &sender.address).collect();
    for sender in wanted.iter().filter(|sender| seen.insert(sender)) {
        let not_kept = |reason| SkippedSender { sender: sender.clone(), reason };
        if quota == 0 {
            plan.not_kept.push(not_kept(SkipReason::TooManyNewSenders));
            continue;
        }
        if count >= limits.senders {
            let Some(evicted) = oldest.next().filter(|_| limits.senders > 0) else {
                plan.not_kept.push(not_kept(SkipReason::NoRoom));
                continue;
            };
            plan.evicted.push(evicted);
            count -= 1;
        }
        plan.admitted.push(sender.clone());
        quota -= 1;
        count += 1;
    }
    plan
}

/// The number of admissions within the last hour. Times further in the future were written with a wrong clock and are
/// ignored, so that they do not block new senders.
fn lately(admissions: &[Timestamp], now: Timestamp) -> usize {
    let (from, to) = (now.minus(HistoryLimits::WINDOW), now.plus(HistoryLimits::WINDOW));
    admissions.iter().filter(|at| from < **at && **at < to).count()
}

/// The lowest stored exchange number, given the newest one.
#[must_use]
pub fn first_kept(newest: u64, limits: &HistoryLimits) -> u64 {
    newest.saturating_sub(limits.exchanges_per_sender).saturating_add(1)
}

/// A message that a turn has processed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredMessage {
    /// The message.
    pub id: InboxId,
    /// The sender.
    pub sender: SenderAddress,
    /// The text.
    pub body: String,
}

/// A message the agent wrote in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SenderReply {
    /// The recipient.
    pub recipient: SenderAddress,
    /// The message it answers.
    pub in_reply_to: Option<InboxId>,
    /// The text.
    pub body: String,
}

/// The exchanges of a turn, in the order of its messages. Senders without an answer have none, so they take nobody's
/// place. A message to another recipient is not an answer to the sender.
#[must_use]
pub fn exchanges(
    messages: &[AnsweredMessage],
    replies: &[SenderReply],
    turn: &TurnId,
    at: Timestamp,
) -> Vec<SenderExchange> {
    let mut own: BTreeMap<(&SenderAddress, &InboxId), Vec<&str>> = BTreeMap::new();
    let mut answered: BTreeSet<&SenderAddress> = BTreeSet::new();
    for reply in replies {
        answered.insert(&reply.recipient);
        if let Some(id) = &reply.in_reply_to {
            own.entry((&reply.recipient, id)).or_default().push(&reply.body);
        }
    }
    let messages = messages.iter().filter(|message| answered.contains(&message.sender));
    messages
        .map(|message| SenderExchange {
            inbox_message: message.id.clone(),
            sender: message.sender.clone(),
            body: message.body.clone(),
            reply: own.get(&(&message.sender, &message.id)).map(|bodies| bodies.join("\n\n")),
            turn: turn.clone(),
            at,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SenderAddress {
        SenderAddress::new(text).unwrap()
    }

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_micros(1_800_000_000_000_000 + minutes * 60_000_000)
    }

    fn known(senders: &[(&str, i64)]) -> Vec<KnownSender> {
        let known = |&(name, minutes): &(&str, i64)| KnownSender {
            address: address(name),
            last_activity: at(minutes),
        };
        senders.iter().map(known).collect()
    }

    fn plan(limits: HistoryLimits, known: &[KnownSender], active: &[&str], wanted: &[&str]) -> SenderPlan {
        let active = active.iter().copied().map(address).collect();
        let senders = Senders { known, admissions: &[], active: &active, now: at(0) };
        plan_senders(&limits, senders, &wanted.iter().copied().map(address).collect::<Vec<_>>())
    }

    fn names(senders: &[SenderAddress]) -> Vec<&str> {
        senders.iter().map(SenderAddress::as_str).collect()
    }

    #[test]
    fn least_recently_active_sender_is_evicted() {
        let limits = HistoryLimits { senders: 3, ..HistoryLimits::default() };
        let known = known(&[("alice", -10), ("bob", -30), ("carol", -20)]);
        let plan = plan(limits, &known, &[], &["dave", "erin", "dave"]);
        assert_eq!(names(&plan.admitted), ["dave", "erin"]);
        assert_eq!(names(&plan.evicted), ["bob", "carol"]);
        assert_eq!(plan.not_kept, []);
    }

    #[test]
    fn senders_of_the_turn_are_never_evicted() {
        let limits = HistoryLimits { senders: 2, ..HistoryLimits::default() };
        let known = known(&[("alice", -10), ("bob", -30)]);
        let plan = plan(limits, &known, &["bob"], &["alice", "carol"]);
        assert_eq!((plan.admitted, plan.evicted), (vec![], vec![]));
        assert_eq!(plan.not_kept, [SkippedSender { sender: address("carol"), reason: SkipReason::NoRoom }]);
    }

    #[test]
    fn lowered_limit_applies_to_the_next_exchange() {
        let limits = HistoryLimits { senders: 1, ..HistoryLimits::default() };
        let known = known(&[("alice", -10), ("bob", -30), ("carol", -20)]);
        assert_eq!(names(&plan(limits, &known, &[], &["bob"]).evicted), ["carol", "alice"]);
    }

    #[test]
    fn new_senders_are_counted_per_hour() {
        let limits = HistoryLimits { new_senders_per_hour: 2, ..HistoryLimits::default() };
        let check = |admissions: &[i64], admitted: usize| {
            let admissions: Vec<_> = admissions.iter().copied().map(at).collect();
            let active = BTreeSet::new();
            let senders = Senders { known: &[], admissions: &admissions, active: &active, now: at(0) };
            let plan = plan_senders(&limits, senders, &["alice", "bob", "carol"].map(address));
            assert_eq!(plan.admitted.len(), admitted, "{admissions:?}");
            assert!(plan.not_kept.iter().all(|not| not.reason == SkipReason::TooManyNewSenders));
        };
        check(&[], 2);
        check(&[-59], 1);
        check(&[-60], 2);
        check(&[-1, -2, -3], 0);
        // The clock was slightly ahead; and a year ahead.
        check(&[5, 6], 0);
        check(&[525_600, 525_600], 2);
    }

    #[test]
    fn exchange_pairs_a_message_with_its_replies() {
        let message = |id: &str, sender: &str, body: &str| AnsweredMessage {
            id: InboxId::new(id).unwrap(),
            sender: address(sender),
            body: body.to_owned(),
        };
        let reply = |to: &str, id: Option<&str>, body: &str| SenderReply {
            recipient: address(to),
            in_reply_to: id.map(|id| InboxId::new(id).unwrap()),
            body: body.to_owned(),
        };
        let messages = [
            message("m-1", "alice", "hello"),
            message("m-2", "mallory", "send me money"),
            message("m-3", "alice", "are you there?"),
            message("m-4", "bob", "tell carol"),
        ];
        let replies = [
            reply("alice", Some("m-1"), "hi"),
            reply("alice", Some("m-1"), "nice to see you"),
            reply("carol", Some("m-4"), "bob says hello"),
            reply("bob", None, "done"),
        ];
        let turn = TurnId::new("t-1").unwrap();
        let exchanges = exchanges(&messages, &replies, &turn, at(0));
        let short: Vec<_> =
            exchanges.iter().map(|e| (e.inbox_message.as_str(), e.reply.as_deref())).collect();
        assert_eq!(short, [("m-1", Some("hi\n\nnice to see you")), ("m-3", None), ("m-4", None)]);
    }
}
