//! The live history of a conversation: the newest summary, and what came behind the messages it stands for. Says how much
//! of it a summary may cover, and what the summary then is. Never shortens anything itself.

use std::collections::{BTreeMap, BTreeSet};

use foreword_prompt::trust::Trust;

use crate::exposure::exposed;
use crate::id::{CallId, TurnId};
use crate::message::{ContentBlock, Kind, Message, Provenance};

/// What a model reads of a conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    /// How often the conversation has been compacted.
    pub compaction: u64,
    /// The place up to which the summary stands for the messages; 0 if there is no summary.
    pub covered_to: u64,
    /// The summary, if there is one, and everything behind `covered_to`, in order.
    pub messages: Vec<Message>,
}

/// Why a summary can't cover that much.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotCover {
    /// Messages would be covered before they are written.
    #[error("there is no message {covered_to} yet, the last one is {last}")]
    Unwritten {
        /// What was to be covered.
        covered_to: u64,
        /// What there is.
        last: u64,
    },
    /// Messages that an earlier summary covers would be in the history again.
    #[error("the last summary covers the messages up to {before} already")]
    Uncovers {
        /// What is covered.
        before: u64,
    },
    /// Somebody would never get an answer.
    #[error("message {seq} has not been taken up by a turn yet")]
    Pending {
        /// The message.
        seq: u64,
    },
    /// Words would be told to those who may not read them, or be kept from those who may.
    #[error("message {seq} was written above the trust of the summary")]
    AboveTrust {
        /// The message.
        seq: u64,
    },
    /// No provider takes a result without its call.
    #[error("message {seq} holds the result of call `{call}`, which would be covered without it")]
    Split {
        /// The message with the result.
        seq: u64,
        /// The call.
        call: CallId,
    },
}

impl History {
    /// The place of the last message.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.messages.iter().map(|message| message.seq).fold(self.covered_to, u64::max)
    }

    /// As a turn of trust `trust` may read it.
    #[must_use]
    pub fn at_trust(self, trust: Trust) -> Self {
        Self { messages: exposed(self.messages, trust), ..self }
    }

    /// Whether a new summary at `trust` may stand for everything up to `covered_to`, the old summary included.
    ///
    /// # Errors
    /// If that would lose a message, tell somebody what they may not read, or leave a history that no model can read.
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
        // The summary has one trust, so it can't stand for what only a higher one may read.
        let is_covered =
            |message: &&Message| message.seq <= covered_to || message.message.kind == Kind::Summary;
        let mut stood_for = self.messages.iter().filter(is_covered);
        if let Some(above) = stood_for.find(|message| !trust.permits(message.message.trust)) {
            return Err(CannotCover::AboveTrust { seq: above.seq });
        }
        // The calls whose results are still to come. An id can come again, and then it is another call.
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

    /// The most that a summary at `trust` can stand for: the highest place that [`History::may_cover`] accepts and that no
    /// turn has messages on both sides of, with nothing of the turn that is `running`. `None` if there is nothing new to
    /// stand for.
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
                // The summary there is can't be covered either.
                Err(CannotCover::AboveTrust { .. }) => return None,
                Err(_) => cut.checked_sub(1)?,
            };
        }
    }

    /// The places of the first and the last message of each turn. A summary is of the conversation, whichever turn made it.
    fn turn_spans(&self) -> BTreeMap<&TurnId, (u64, u64)> {
        let mut spans = BTreeMap::new();
        for message in self.messages.iter().filter(|message| message.message.kind != Kind::Summary) {
            let Some(turn) = &message.message.turn else { continue };
            let (first, last) = spans.entry(turn).or_insert((message.seq, message.seq));
            (*first, *last) = (message.seq.min(*first), message.seq.max(*last));
        }
        spans
    }

    /// Where the words of a summary of everything up to `covered_to` come from, at worst: from outside, if any of what it
    /// stands for does; from a user, if one who is no owner had a say. A summary makes nobody's words more trustworthy.
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

    fn said(seq: u64, role: Role, content: ContentBlock) -> Message {
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
        said(
            seq,
            Role::Assistant,
            ContentBlock::ToolCall { id, name: "bash".to_owned(), input: serde_json::Value::Null },
        )
    }

    fn result(seq: u64, id: &str) -> Message {
        let call = CallId::new(id).unwrap();
        said(seq, Role::Tool, ContentBlock::ToolResult { call, content: "done".to_owned(), is_error: false })
    }

    /// A summary at place 6 of the messages up to 3; then a question, a call and its result, an answer.
    fn history() -> History {
        let mut summary = said(6, Role::User, ContentBlock::text("before"));
        summary.message.kind = Kind::Summary;
        let messages = vec![
            summary,
            said(4, Role::User, ContentBlock::text("what time is it?")),
            call(5, "call_0"),
            result(7, "call_0"),
            said(8, Role::Assistant, ContentBlock::text("noon")),
        ];
        History { compaction: 1, covered_to: 3, messages }
    }

    fn check(history: &History, covered_to: u64, expected: Result<(), CannotCover>) {
        assert_eq!(history.may_cover(covered_to, Trust::Inner), expected, "{covered_to}");
    }

    #[test]
    fn a_summary_covers_nothing_that_was_written_above_its_trust() {
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
    fn a_summary_covers_what_is_written_and_nothing_less_than_the_one_before() {
        check(&history(), 2, Err(CannotCover::Uncovers { before: 3 }));
        for fine in [3, 4, 7, 8] {
            check(&history(), fine, Ok(()));
        }
        check(&history(), 9, Err(CannotCover::Unwritten { covered_to: 9, last: 8 }));
        check(&History::default(), 1, Err(CannotCover::Unwritten { covered_to: 1, last: 0 }));
    }

    #[test]
    fn a_summary_does_not_come_between_a_call_and_its_result() {
        let call_0 = CallId::new("call_0").unwrap();
        for between in [5, 6] {
            check(&history(), between, Err(CannotCover::Split { seq: 7, call: call_0.clone() }));
        }
        let mut again = history();
        again.messages.extend([call(9, "call_0"), result(10, "call_0")]);
        check(&again, 8, Ok(()));
        check(&again, 9, Err(CannotCover::Split { seq: 10, call: call_0 }));
        // The call of the first result is nowhere in what is covered.
        again.messages.remove(3);
        check(&again, 5, Ok(()));
    }

    #[test]
    fn a_summary_does_not_cover_what_nobody_has_answered() {
        let mut waiting = history();
        waiting.messages[1].message.turn = None;
        check(&waiting, 3, Ok(()));
        check(&waiting, 8, Err(CannotCover::Pending { seq: 4 }));
    }

    #[test]
    fn words_from_outside_stay_words_from_outside_in_a_summary() {
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

    /// As [`history`], with messages of other turns: 4 to 8 are of `t-1`, but for those named here.
    fn turns(of: &[(u64, Option<&str>)]) -> History {
        let mut history = history();
        history.messages.extend([9, 10].map(|seq| said(seq, Role::User, ContentBlock::text("and?"))));
        for (seq, turn) in of {
            let message = history.messages.iter_mut().find(|message| message.seq == *seq).unwrap();
            message.message.turn = turn.map(|turn| TurnId::new(turn).unwrap());
        }
        history
    }

    #[test]
    fn a_cut_falls_between_turns_and_before_the_one_that_runs() {
        let two = turns(&[(9, Some("t-2")), (10, Some("t-2"))]);
        assert_eq!(two.cut(Trust::Full, None), Some(10));
        assert_eq!(two.cut(Trust::Full, TurnId::new("t-2").ok().as_ref()), Some(8));
        assert_eq!(two.cut(Trust::Full, TurnId::new("t-1").ok().as_ref()), None);
        assert_eq!(two.cut(Trust::Full, TurnId::new("t-9").ok().as_ref()), Some(10));
        // What the second turn took up came in while the first was running.
        let crossed = turns(&[(5, Some("t-2")), (9, Some("t-2")), (10, None)]);
        assert_eq!(crossed.cut(Trust::Full, None), Some(9));
        assert_eq!(crossed.cut(Trust::Full, TurnId::new("t-2").ok().as_ref()), None);
    }

    #[test]
    fn a_cut_covers_nothing_that_waits_or_that_is_above_its_trust() {
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
    fn there_is_nothing_to_cut_where_nothing_came_behind_the_summary() {
        assert_eq!(History::default().cut(Trust::Full, None), None);
        let mut summed_up = history();
        summed_up.messages.truncate(1);
        assert_eq!(summed_up.cut(Trust::Full, None), None);
    }
}
