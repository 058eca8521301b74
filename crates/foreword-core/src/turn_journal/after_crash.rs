//! What becomes of a turn whose node has died: it goes on where it was, unless that could do something twice.

use std::fmt;

use super::{Journal, Step};
use crate::id::CallId;

/// What to do with a turn that was cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterCrash {
    /// Go on behind the last step. Tools that have ended are not called again: their results are in the journal.
    Resume,
    /// Don't run it again, and tell the conversation.
    Report(WhyReported),
}

/// Why a turn may not be run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhyReported {
    /// A tool that changes something had been started, and nobody knows how far it came.
    Tool {
        /// The tool.
        tool: String,
        /// Which call of it.
        call: CallId,
    },
    /// It has been begun too often: it may be what kills its nodes.
    Attempts {
        /// How often.
        attempts: u32,
    },
    /// Whoever it is for is trusted with less by now than what it has read needs.
    TrustFell,
    /// A newer Foreword has done something that this one does not know, and can't tell whether it may be done again.
    UnknownStep {
        /// What it is called.
        kind: String,
    },
}

impl fmt::Display for WhyReported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool { tool, call } => {
                write!(f, "interrupted while `{tool}` (call `{call}`) was running: it may have taken effect")
            }
            Self::TrustFell => f.write_str("interrupted, and whoever it was for is trusted with less by now"),
            Self::Attempts { attempts } => write!(f, "interrupted {attempts} times"),
            Self::UnknownStep { kind } => {
                write!(f, "interrupted after a step `{kind}`, which only a newer Foreword knows")
            }
        }
    }
}

impl Journal {
    /// Decides what becomes of a turn that was cut off behind the last step. `attempts` is how often it would have been
    /// begun if it is resumed now, the first time included, and `limit` how often it may be.
    ///
    /// ```
    /// use foreword_core::id::CallId;
    /// use foreword_core::turn_journal::{AfterCrash, Journal, Step};
    ///
    /// let call = CallId::new("c-1").unwrap();
    /// let started = |side_effects| Step::ToolStarted { call: call.clone(), tool: "bash".into(), side_effects };
    /// let reading = Journal::new(vec![started(false)]);
    /// assert_eq!(reading.after_crash(2, 3), AfterCrash::Resume);
    /// let writing = Journal::new(vec![started(true)]);
    /// assert!(matches!(writing.after_crash(2, 3), AfterCrash::Report(_)));
    /// ```
    #[must_use]
    pub fn after_crash(&self, attempts: u32, limit: u32) -> AfterCrash {
        let unknown = self.steps().iter().find_map(|step| match step {
            Step::Other(_) => Some(WhyReported::UnknownStep { kind: step.kind().to_owned() }),
            _ => None,
        });
        let too_often = (attempts > limit).then_some(WhyReported::Attempts { attempts });
        match self.unfinished_effect().or(unknown).or(too_often) {
            Some(why) => AfterCrash::Report(why),
            None => AfterCrash::Resume,
        }
    }

    /// The first tool that changes something, was started, and is not known to have ended.
    fn unfinished_effect(&self) -> Option<WhyReported> {
        // In order, because a provider may use the id of a call again once it has ended.
        let mut running: Vec<(&CallId, &str)> = Vec::new();
        for step in self.steps() {
            match step {
                Step::ToolStarted { call, tool, side_effects: true } => running.push((call, tool)),
                Step::ToolFinished(result) => running.retain(|(call, _)| **call != result.call),
                _ => {}
            }
        }
        running
            .first()
            .map(|(call, tool)| WhyReported::Tool { tool: (*tool).to_owned(), call: (*call).clone() })
    }
}
