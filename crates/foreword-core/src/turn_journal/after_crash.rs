//! Decides whether a turn is resumed after its node has died: yes, unless a side effect could happen twice.

use std::fmt;

use super::{Journal, JournalStep};
use crate::id::CallId;

/// What to do with an interrupted turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterCrash {
    /// Resume after the last step. Finished tools are not called again: their results are in the journal.
    Resume,
    /// Do not resume it, and report it in the conversation.
    Report(ReportReason),
}

/// Why a turn must not be resumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportReason {
    /// A tool with side effects was running.
    Tool {
        /// The tool.
        tool: String,
        /// The call.
        call: CallId,
    },
    /// It was started too often, so it may be what crashes its nodes.
    Attempts {
        /// The number of attempts.
        attempts: u32,
    },
    /// The user's trust is now below the trust of what the turn has read.
    TrustFell,
    /// The journal has a step of a newer version, so it is unknown whether resuming is safe.
    UnknownStep {
        /// The kind of the step.
        kind: String,
    },
}

impl fmt::Display for ReportReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool { tool, call } => {
                write!(f, "interrupted while `{tool}` (call `{call}`) was running: it may have taken effect")
            }
            Self::TrustFell => f.write_str("interrupted, and the user's trust has fallen since"),
            Self::Attempts { attempts } => write!(f, "interrupted {attempts} times"),
            Self::UnknownStep { kind } => {
                write!(f, "interrupted after a step `{kind}`, which only a newer Foreword knows")
            }
        }
    }
}

impl Journal {
    /// Decides what to do with a turn that was interrupted after the last step. `attempts` counts all starts including
    /// the next one, and `limit` is their maximum.
    ///
    /// ```
    /// use foreword_core::id::CallId;
    /// use foreword_core::turn_journal::{AfterCrash, Journal, JournalStep};
    ///
    /// let call = CallId::new("c-1").unwrap();
    /// let started = |side_effects| JournalStep::ToolStarted { call: call.clone(), tool: "bash".into(), side_effects };
    /// let reading = Journal::new(vec![started(false)]);
    /// assert_eq!(reading.after_crash(2, 3), AfterCrash::Resume);
    /// let writing = Journal::new(vec![started(true)]);
    /// assert!(matches!(writing.after_crash(2, 3), AfterCrash::Report(_)));
    /// ```
    #[must_use]
    pub fn after_crash(&self, attempts: u32, limit: u32) -> AfterCrash {
        let unknown = self.steps().iter().find_map(|step| match step {
            JournalStep::Other(_) => Some(ReportReason::UnknownStep { kind: step.kind().to_owned() }),
            _ => None,
        });
        let too_often = (attempts > limit).then_some(ReportReason::Attempts { attempts });
        match self.unfinished_effect().or(unknown).or(too_often) {
            Some(why) => AfterCrash::Report(why),
            None => AfterCrash::Resume,
        }
    }

    /// The first tool with side effects that was started and has not finished.
    fn unfinished_effect(&self) -> Option<ReportReason> {
        // In order, because a provider may reuse the id of a finished call.
        let mut running: Vec<(&CallId, &str)> = Vec::new();
        for step in self.steps() {
            match step {
                JournalStep::ToolStarted { call, tool, side_effects: true } => running.push((call, tool)),
                JournalStep::ToolFinished(result) => running.retain(|(call, _)| **call != result.call),
                _ => {}
            }
        }
        running
            .first()
            .map(|(call, tool)| ReportReason::Tool { tool: (*tool).to_owned(), call: (*call).clone() })
    }
}
