//! The live history of a conversation: the newest summary and the messages after the part it covers. Decides how much
//! of the history a summary may cover. Does not compact anything.

use std::collections::{BTreeMap, BTreeSet};

use foreword_prompt::trust::Trust;

use crate::history_visibility::visible_history;
use crate::id::{CallId, TurnId};
use crate::message::{ContentBlock, Kind, Message, Provenance};

/// The part of a conversation that a model reads.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    /// How often the conversation was compacted.
    pub compaction: u64,
    /// The sequence number up to which the summary covers the messages; 0 without a summary.
    pub covered_to: u64,
    /// The summary, if any, and all messages after `covered_to`, in order.
    pub messages: Vec<Message>,
}

/// Why a summary cannot cover that much.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotCover {
    /// It would cover messages that do not exist yet.
    #[error("there is no message {covered_to} yet, the last one is {last}")]
    Unwritten {
        /// The requested sequence number.
        covered_to: u64,
        /// The last sequence number.
        last: u64,
    },
    /// It covers less than the existing summary.
    #[error("the last summary covers the messages up to {before} already")]
    Uncovers {
        /// What the existing summary covers.
        before: u64,
    },
    /// It would cover an unanswered message.
    #[error("message {seq} is still pending")]
    Pending {
        /// The message.
        seq: u64,
    },
    /// It would reveal or hide messages at the wrong trust level.
    #[error("message {seq} was written above the trust of the summary")]
    AboveTrust {
        /// The message.
        seq: u64,
    },
    /// It would separate a tool result from its call.
    #[error("message {seq} holds the result of call `{call}`, which would be covered without it")]
    Split {
        /// The message with the result.
        seq: u64,
        /// The call.
        call: CallId,
    },
}

impl History {
    /// The sequence number of the last message.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.messages.iter().map(|message| message.seq).fold(self.covered_to, u64::max)
    }

    /// The history as a turn of trust `trust` may read it.
    #[must_use]
    pub fn at_trust(self, trust: Trust) -> Self {
        Self { messages: visible_history(self.messages, trust), ..self }
    }

    /// Checks whether a new summary at `trust` may cover everything up to `covered_to`, the old summary included.
    ///
    /// # Errors
    /// If that would lose a message, reveal one above a reader's trust, or leave a history that providers reject.
    pub fn may_cover(&self, covered_to: u64, trust: Trust) -> Result<(), CannotCover> {
        let last = self.last();
        if covered_to > last {
            return Err(CannotCover::Unwritten { covered_to, last });
        }
        if covered_to < self.covered_to {
            return Err(CannotCover::Uncovers { before: self.covered_to });
        }
        let covered = || self.messages.iter().filter(|message| message.seq <= covered_to);
        if let Some(pending) = covered().find(|message| message.message.is_pending()) {
            return Err(CannotCover::Pending { seq: pending.seq });
        }
        // The summary has one trust level, so it must not cover messages above it.
        let is_covered =
            |message: &&Message| message.seq <= covered_to || message.message.kind == Kind::Summary;
        let mut stood_for = self.messages.iter().filter(is_covered);
        if let Some(above) = stood_for.find(|message| !trust.permits(message.message.trust)) {
            return Err(CannotCover::AboveTrust { seq: above.seq });
        }
        // Calls without a result so far. A reused id belongs to a new call.
        let mut open: BTreeSet<&CallId> = BTreeSet::new();
        for block in covered().flat_map(|message| &message.message.content) {
            match block {
                ContentBlock::ToolCall { id, .. } => drop(open.insert(id)),
                ContentBlock::ToolResult { call, .. } => drop(open.remove(call)),
                _ => {}
            }
        }
        for message in self.messages.iter().filter(|message| message.seq > covered_to) {
            for block in &message.message.content {
                match block {
                    ContentBlock::ToolCall { id, .. } => drop(open.remove(id)),
                    ContentBlock::ToolResult { call, .. } if open.contains(call) => {
                        return Err(CannotCover::Split { seq: message.seq, call: call.clone() });
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// The highest sequence number that a summary at `trust` can cover: [`History::may_cover`] accepts it, it splits no
    /// turn, and it excludes the `running` turn. `None` if there is nothing new to cover.
    #[must_use]
    pub fn cut(&self, trust: Trust, running: Option<&TurnId>) -> Option<u64> {
        let spans = self.turn_spans();
        let is_in_history = |message: &&Message| message.message.kind != Kind::Summary;
        let mut limit = match running.and_then(|turn| spans.get(turn)) {
            Some((first, _)) => first.checked_sub(1)?,
            None => self.last(),
        };
        loop {
            let places = self.messages.iter().filter(is_in_history).map(|message| message.seq);
            let cut = places.filter(|seq| *seq > self.covered_to && *seq <= limit).max()?;
            if let Some((first, _)) = spans.values().find(|(first, last)| (*first..*last).contains(&cut)) {
                limit = first.checked_sub(1)?;
                continue;
            }
            limit = match self.may_cover(cut, trust) {
                Ok(()) => return Some(cut),
                Err(CannotCover::Pending { seq } | CannotCover::AboveTrust { seq }) if seq <= cut => {
                    seq.checked_sub(1)?
                }
                // The existing summary cannot be covered either.
                Err(CannotCover::AboveTrust { .. }) => return None,
                Err(_) => cut.checked_sub(1)?,
            };
        }
    }

    /// The first and last sequence number of each turn, without summaries, which belong to the conversation.
    fn turn_spans(&self) -> BTreeMap<&TurnId, (u64, u64)> {
        let mut spans = BTreeMap::new();
        for message in self.messages.iter().filter(|message| message.message.kind != Kind::Summary) {
            let Some(turn) = &message.message.turn else { continue };
            let (first, last) = spans.entry(turn).or_insert((message.seq, message.seq));
            (*first, *last) = (message.seq.min(*first), message.seq.max(*last));
        }
        spans
    }

    /// The provenance of a summary of everything up to `covered_to`: the least trusted one of the covered messages.
    #[must_use]
    pub fn summary_provenance(&self, covered_to: u64) -> Provenance {
        let is_covered =
            |message: &&Message| message.seq <= covered_to || message.message.kind == Kind::Summary;
        let is_from = |provenance: &Provenance| {
            self.messages.iter().filter(is_covered).any(|message| message.message.provenance == *provenance)
        };
        let worst = [Provenance::Outside, Provenance::User].into_iter().find(is_from);
        worst.unwrap_or(Provenance::Agent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{ConversationId, MessageId};
    use crate::message::{NewMessage, Role};

    fn message(seq: u64, role: Role, content: ContentBlock) -> Message {
        let message = NewMessage {
            id: MessageId::new(format!("m-{seq}")).unwrap(),
            conversation: ConversationId::new("c-1").unwrap(),
            role,
            kind: Kind::Message,
            content: vec![content],
            trust: Trust::Inner,
            provenance: Provenance::User,
            author: None,
            turn: Some(TurnId::new("t-1").unwrap()),
            usage: None,
            at: "2026-11-16T08:00:00Z".parse().unwrap(),
        };
        Message { seq, message }
    }

    fn call(seq: u64, id: &str) -> Message {
        let id = CallId::new(id).unwrap();
        message(
            seq,
            Role::Assistant,
            ContentBlock::ToolCall { id, name: "bash".to_owned(), input: serde_json::Value::Null },
        )
    }

    fn result(seq: u64, id: &str) -> Message {
        let call = CallId::new(id).unwrap();
        message(
            seq,
            Role::Tool,
            ContentBlock::ToolResult { call, content: "done".to_owned(), is_error: false },
        )
    }

    /// A summary at 6 of the messages up to 3; then a question, a call and its result, an answer.
    fn history() -> History {
        let mut summary = message(6, Role::User, ContentBlock::text("before"));
        summary.message.kind = Kind::Summary;
        let messages = vec![
            summary,
            message(4, Role::User, ContentBlock::text("what time is it?")),
            call(5, "call_0"),
            result(7, "call_0"),
            message(8, Role::Assistant, ContentBlock::text("noon")),
        ];
        History { compaction: 1, covered_to: 3, messages }
    }

    fn check(history: &History, covered_to: u64, expected: Result<(), CannotCover>) {
        assert_eq!(history.may_cover(covered_to, Trust::Inner), expected, "{covered_to}");
    }

    #[test]
    fn summary_excludes_messages_above_its_trust() {
        let mut history = history();
        assert_eq!(history.may_cover(4, Trust::Familiar), Err(CannotCover::AboveTrust { seq: 6 }));
        assert_eq!(history.may_cover(4, Trust::Full), Ok(()));
        for message in &mut history.messages {
            message.message.trust = Trust::Familiar;
        }
        assert_eq!(history.may_cover(8, Trust::Familiar), Ok(()));
        history.messages[4].message.trust = Trust::Full;
        assert_eq!(history.may_cover(8, Trust::Inner), Err(CannotCover::AboveTrust { seq: 8 }));
        assert_eq!(history.may_cover(7, Trust::Inner), Ok(()));
    }

    #[test]
    fn summary_covers_at_least_the_previous_one() {
        check(&history(), 2, Err(CannotCover::Uncovers { before: 3 }));
        for fine in [3, 4, 7, 8] {
            check(&history(), fine, Ok(()));
        }
        check(&history(), 9, Err(CannotCover::Unwritten { covered_to: 9, last: 8 }));
        check(&History::default(), 1, Err(CannotCover::Unwritten { covered_to: 1, last: 0 }));
    }

    #[test]
    fn summary_never_splits_call_and_result() {
        let call_0 = CallId::new("call_0").unwrap();
        for between in [5, 6] {
            check(&history(), between, Err(CannotCover::Split { seq: 7, call: call_0.clone() }));
        }
        let mut again = history();
        again.messages.extend([call(9, "call_0"), result(10, "call_0")]);
        check(&again, 8, Ok(()));
        check(&again, 9, Err(CannotCover::Split { seq: 10, call: call_0 }));
        // The call of the first result is not covered.
        again.messages.remove(3);
        check(&again, 5, Ok(()));
    }

    #[test]
    fn summary_excludes_unanswered_messages() {
        let mut waiting = history();
        waiting.messages[1].message.turn = None;
        check(&waiting, 3, Ok(()));
        check(&waiting, 8, Err(CannotCover::Pending { seq: 4 }));
    }

    #[test]
    fn summary_of_outside_text_stays_outside_text() {
        let mut history = history();
        assert_eq!(history.summary_provenance(8), Provenance::User);
        history.messages[3].message.provenance = Provenance::Outside;
        assert_eq!(history.summary_provenance(4), Provenance::User);
        assert_eq!(history.summary_provenance(7), Provenance::Outside);
        history.messages[0].message.provenance = Provenance::Outside;
        assert_eq!(history.summary_provenance(3), Provenance::Outside);
        for message in &mut history.messages {
            message.message.provenance = Provenance::Owner;
        }
        assert_eq!(history.summary_provenance(8), Provenance::Agent);
    }

    /// Like [`history`], with messages of other turns: 4 to 8 belong to `t-1`, except those named here.
    fn turns(of: &[(u64, Option<&str>)]) -> History {
        let mut history = history();
        history.messages.extend([9, 10].map(|seq| message(seq, Role::User, ContentBlock::text("and?"))));
        for (seq, turn) in of {
            let message = history.messages.iter_mut().find(|message| message.seq == *seq).unwrap();
            message.message.turn = turn.map(|turn| TurnId::new(turn).unwrap());
        }
        history
    }

    #[test]
    fn cut_excludes_the_running_turn() {
        let two = turns(&[(9, Some("t-2")), (10, Some("t-2"))]);
        assert_eq!(two.cut(Trust::Full, None), Some(10));
        assert_eq!(two.cut(Trust::Full, TurnId::new("t-2").ok().as_ref()), Some(8));
        assert_eq!(two.cut(Trust::Full, TurnId::new("t-1").ok().as_ref()), None);
        assert_eq!(two.cut(Trust::Full, TurnId::new("t-9").ok().as_ref()), Some(10));
        // The messages of the second turn arrived while the first was running.
        let crossed = turns(&[(5, Some("t-2")), (9, Some("t-2")), (10, None)]);
        assert_eq!(crossed.cut(Trust::Full, None), Some(9));
        assert_eq!(crossed.cut(Trust::Full, TurnId::new("t-2").ok().as_ref()), None);
    }

    #[test]
    fn cut_excludes_pending_and_higher_trust_messages() {
        assert_eq!(turns(&[(9, Some("t-2")), (10, None)]).cut(Trust::Full, None), Some(9));
        assert_eq!(turns(&[(9, None), (10, Some("t-2"))]).cut(Trust::Full, None), Some(8));
        let mut secret = turns(&[(9, Some("t-2")), (10, Some("t-3"))]);
        assert_eq!(secret.cut(Trust::Familiar, None), None);
        secret.messages.iter_mut().for_each(|message| message.message.trust = Trust::Familiar);
        secret.messages[5].message.trust = Trust::Full;
        assert_eq!(secret.messages[5].seq, 9);
        assert_eq!(secret.cut(Trust::Familiar, None), Some(8));
        assert_eq!(secret.cut(Trust::Full, None), Some(10));
    }

    #[test]
    fn no_cut_without_messages_after_the_summary() {
        assert_eq!(History::default().cut(Trust::Full, None), None);
        let mut summed_up = history();
        summed_up.messages.truncate(1);
        assert_eq!(summed_up.cut(Trust::Full, None), None);
    }
}
