//! Which senders have a history, and what is in it. A sender who got no answer has none; a burst of new senders can't
//! push the others out; whoever takes part in this turn stays.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Exchange, SenderAddress};
use crate::id::{InboxId, TurnId};
use crate::timestamp::Timestamp;

/// How much history is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryLimits {
    /// Exchanges of one sender; the oldest go first.
    pub exchanges_per_sender: u64,
    /// Senders; those whose last activity is longest ago go first.
    pub senders: usize,
    /// Characters of a message or an answer.
    pub characters: usize,
    /// New senders within an hour.
    pub new_senders_per_hour: usize,
}

impl HistoryLimits {
    /// The time over which new senders are counted.
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
    /// Who.
    pub address: SenderAddress,
    /// The last exchange, by the latest clock there was.
    pub last_activity: Timestamp,
}

/// What is known when new exchanges come.
#[derive(Debug, Clone, Copy)]
pub struct Senders<'a> {
    /// Everybody with a history.
    pub known: &'a [KnownSender],
    /// When new senders were let in lately.
    pub admissions: &'a [Timestamp],
    /// Who takes part in this turn, with an exchange or without.
    pub active: &'a BTreeSet<SenderAddress>,
    /// The time.
    pub now: Timestamp,
}

/// Who gets a history, who does not, and who loses it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SenderPlan {
    /// New senders that are let in.
    pub admitted: Vec<SenderAddress>,
    /// New senders that are not.
    pub not_kept: Vec<NotKept>,
    /// Senders whose history goes.
    pub evicted: Vec<SenderAddress>,
}

/// A sender whose exchanges are not kept. The messages themselves stay in the inbox and the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotKept {
    /// Who.
    pub sender: SenderAddress,
    /// Why.
    pub reason: NotKeptReason,
}

/// Why a sender's exchanges are not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotKeptReason {
    /// Too many new senders within an hour.
    TooManyNewSenders,
    /// All places are taken by senders who are part of this turn.
    NoRoom,
}

/// Decides for the senders of new exchanges, in the order they came.
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
    // There can be too many already: the limit may have been lowered.
    plan.evicted.extend(oldest.by_ref().take(senders.known.len().saturating_sub(limits.senders)));
    let mut count = senders.known.len() - plan.evicted.len();
    let mut seen: BTreeSet<&SenderAddress> = senders.known.iter().map(|sender| &sender.address).collect();
    for sender in wanted.iter().filter(|sender| seen.insert(sender)) {
        let not_kept = |reason| NotKept { sender: sender.clone(), reason };
        if quota == 0 {
            plan.not_kept.push(not_kept(NotKeptReason::TooManyNewSenders));
            continue;
        }
        if count >= limits.senders {
            let Some(evicted) = oldest.next().filter(|_| limits.senders > 0) else {
                plan.not_kept.push(not_kept(NotKeptReason::NoRoom));
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

/// How many were let in within the hour. One that lies further ahead than that was written by a clock that was wrong,
/// and must not keep the door shut until its time has come.
fn lately(admissions: &[Timestamp], now: Timestamp) -> usize {
    let (from, to) = (now.minus(HistoryLimits::WINDOW), now.plus(HistoryLimits::WINDOW));
    admissions.iter().filter(|at| from < **at && **at < to).count()
}

/// The lowest number of an exchange that is kept, where the newest has the number `newest`.
#[must_use]
pub fn first_kept(newest: u64, limits: &HistoryLimits) -> u64 {
    newest.saturating_sub(limits.exchanges_per_sender).saturating_add(1)
}

/// A message that a turn has dealt with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// Which.
    pub id: InboxId,
    /// From whom.
    pub sender: SenderAddress,
    /// What it says.
    pub body: String,
}

/// What the agent wrote to somebody in that turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// To whom.
    pub recipient: SenderAddress,
    /// The message it answers.
    pub in_reply_to: Option<InboxId>,
    /// What it says.
    pub body: String,
}

/// The exchanges of a turn, in the order of its messages. Senders who got no answer have none, so that whoever is
/// ignored takes nobody's place. What was written to somebody else is no answer to the sender.
#[must_use]
pub fn exchanges(messages: &[Answered], replies: &[Reply], turn: &TurnId, at: Timestamp) -> Vec<Exchange> {
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
        .map(|message| Exchange {
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
    fn whoever_was_active_longest_ago_makes_room() {
        let limits = HistoryLimits { senders: 3, ..HistoryLimits::default() };
        let known = known(&[("alice", -10), ("bob", -30), ("carol", -20)]);
        let plan = plan(limits, &known, &[], &["dave", "erin", "dave"]);
        assert_eq!(names(&plan.admitted), ["dave", "erin"]);
        assert_eq!(names(&plan.evicted), ["bob", "carol"]);
        assert_eq!(plan.not_kept, []);
    }

    #[test]
    fn whoever_takes_part_in_the_turn_stays_even_if_nobody_else_is_left() {
        let limits = HistoryLimits { senders: 2, ..HistoryLimits::default() };
        let known = known(&[("alice", -10), ("bob", -30)]);
        let plan = plan(limits, &known, &["bob"], &["alice", "carol"]);
        assert_eq!((plan.admitted, plan.evicted), (vec![], vec![]));
        assert_eq!(plan.not_kept, [NotKept { sender: address("carol"), reason: NotKeptReason::NoRoom }]);
    }

    #[test]
    fn a_lowered_limit_takes_effect_with_the_next_exchange() {
        let limits = HistoryLimits { senders: 1, ..HistoryLimits::default() };
        let known = known(&[("alice", -10), ("bob", -30), ("carol", -20)]);
        assert_eq!(names(&plan(limits, &known, &[], &["bob"]).evicted), ["carol", "alice"]);
    }

    #[test]
    fn new_senders_are_counted_over_the_last_hour_whatever_the_clock_did_since() {
        let limits = HistoryLimits { new_senders_per_hour: 2, ..HistoryLimits::default() };
        let check = |admissions: &[i64], admitted: usize| {
            let admissions: Vec<_> = admissions.iter().copied().map(at).collect();
            let active = BTreeSet::new();
            let senders = Senders { known: &[], admissions: &admissions, active: &active, now: at(0) };
            let plan = plan_senders(&limits, senders, &["alice", "bob", "carol"].map(address));
            assert_eq!(plan.admitted.len(), admitted, "{admissions:?}");
            assert!(plan.not_kept.iter().all(|not| not.reason == NotKeptReason::TooManyNewSenders));
        };
        check(&[], 2);
        check(&[-59], 1);
        check(&[-60], 2);
        check(&[-1, -2, -3], 0);
        // The clock was a little ahead; and it was a year ahead.
        check(&[5, 6], 0);
        check(&[525_600, 525_600], 2);
    }

    #[test]
    fn an_exchange_is_a_message_and_what_was_answered_to_its_sender() {
        let message = |id: &str, sender: &str, body: &str| Answered {
            id: InboxId::new(id).unwrap(),
            sender: address(sender),
            body: body.to_owned(),
        };
        let reply = |to: &str, id: Option<&str>, body: &str| Reply {
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
