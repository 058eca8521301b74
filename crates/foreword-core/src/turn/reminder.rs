//! The reminder of missing replies: an inbox turn that is about to end without a reply to some of its senders reminds
//! the model once.

use foreword_prompt::untrusted::single_line;

use super::Turn;
use crate::id::MAX_ID_BYTES;
use crate::sender::{REPLY_TOOL, unanswered};

/// The maximum number of reminders per turn.
const MAX_REMINDERS: u32 = 1;

impl Turn {
    /// The reminder about missing replies; `None` if none is missing, if it was sent before, or if no round is left for
    /// a tool call.
    pub(super) fn reminder(&self) -> Option<String> {
        if self.counts.reminders >= MAX_REMINDERS || self.counts.rounds >= self.rules.limits.rounds {
            return None;
        }
        let missing = unanswered(&self.said, &self.obligations);
        if missing.is_empty() {
            return None;
        }
        let ids: Vec<String> =
            missing.iter().map(|id| format!("`{}`", single_line(id.as_str(), MAX_ID_BYTES))).collect();
        Some(format!(
            "The senders of these messages have no reply yet: {}. Text outside of a tool call reaches none of them. Call \
             `{REPLY_TOOL}` for each of these messages now; a message without a reply stays pending.",
            ids.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::id::InboxId;
    use crate::limits::TurnLimits;
    use crate::message::{ContentBlock, Kind};
    use crate::model::{ModelEvent, StopReason};
    use crate::sender::SenderAddress;
    use crate::timestamp::Timestamp;
    use crate::turn::{Input, Step, Turn, TurnRules};
    use crate::turn_journal::Outcome;

    fn now() -> Timestamp {
        Timestamp::from_micros(0)
    }

    fn turn(rules: TurnRules, senders: &[&str]) -> Turn {
        let message = |(number, sender): (usize, &&str)| {
            (InboxId::new(format!("m-{number}")).unwrap(), SenderAddress::new(sender).unwrap())
        };
        let mut turn =
            Turn::new(rules, now()).with_obligations(senders.iter().enumerate().map(message).collect());
        assert!(matches!(turn.step(now(), Input::Begin), Step::CallModel(_)));
        turn
    }

    fn says(turn: &mut Turn, text: &str) -> Step {
        turn.step(now(), Input::Model(ModelEvent::Text(text.to_owned())));
        turn.step(now(), Input::Model(ModelEvent::Stopped(StopReason::EndTurn)))
    }

    fn is_done(step: &Step) -> bool {
        matches!(step, Step::Done(ending) if ending.outcome == Outcome::Done)
    }

    #[test]
    fn missing_replies_are_reminded_once() {
        let mut turn = turn(TurnRules::default(), &["0xa", "0xb"]);
        let Step::CallModel(call) = says(&mut turn, "Hello, both of you.") else { panic!("no second call") };
        assert_eq!(call.round, 2);
        let notice = turn.messages().last().unwrap();
        assert_eq!(notice.kind(), Kind::Notice);
        assert!(matches!(notice.content.as_slice(), [ContentBlock::Text { text }]
            if text.contains("`m-0`, `m-1`") && text.contains("`inbox_reply`")));
        // The counter survives serialisation.
        let stored = serde_json::to_string(&turn).unwrap();
        let mut turn: Turn = serde_json::from_str(&stored).unwrap();
        assert!(is_done(&says(&mut turn, "I have said it.")));
    }

    #[test]
    fn no_reminder_when_all_senders_have_replies() {
        assert!(is_done(&says(&mut turn(TurnRules::default(), &["0xa", "0xa"]), "Hello.")));
        assert!(is_done(&says(&mut turn(TurnRules::default(), &[]), "Hello.")));
    }

    #[test]
    fn no_reminder_without_a_round_left() {
        let limits = TurnLimits { rounds: 1, ..TurnLimits::default() };
        assert!(is_done(&says(
            &mut turn(TurnRules { limits, ..TurnRules::default() }, &["0xa", "0xb"]),
            "Hello."
        )));
    }
}
