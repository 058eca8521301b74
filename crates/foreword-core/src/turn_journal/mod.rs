//! The journal of a turn, and the decision after a crash. Each step is written before the next action starts
//! (write-ahead), so an action without a step has not started. Does no IO.

mod after_crash;
mod state;
mod step;

pub use after_crash::{AfterCrash, ReportReason};
pub use state::{Outcome, TurnState};
pub use step::{JournalStep, PromptBuilt, ToolResult};

use crate::id::CallId;

/// The steps of a turn, in order, numbered from 1.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Journal {
    steps: Vec<JournalStep>,
}

/// Where a step is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepPlacement {
    /// After the last one.
    Next,
    /// It is already there, unchanged.
    Already,
}

/// Why a step cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepRefused {
    /// Another step has this number.
    #[error("another step has this number")]
    Taken,
    /// Earlier steps are missing.
    #[error("the next step is {next}")]
    Gap {
        /// The next free number.
        next: u64,
    },
    /// The step is only written together with the start or end of a turn.
    #[error("`{kind}` is written when a turn begins or ends")]
    NotByItself {
        /// The kind of the step.
        kind: String,
    },
}

/// Decides where `step` goes, if its writer expects it to be step `number`. `next` is the next free number, and `there`
/// is the existing step `number`.
///
/// # Errors
/// If another step has this number, or earlier steps are missing.
pub fn place_step(
    number: u64,
    step: &JournalStep,
    next: u64,
    there: Option<&JournalStep>,
) -> Result<StepPlacement, StepRefused> {
    if matches!(step.kind(), "accepted" | "replied") {
        return Err(StepRefused::NotByItself { kind: step.kind().to_owned() });
    }
    match there {
        Some(there) if there == step => Ok(StepPlacement::Already),
        Some(_) => Err(StepRefused::Taken),
        None if number == next => Ok(StepPlacement::Next),
        None => Err(StepRefused::Gap { next }),
    }
}

impl Journal {
    /// A journal with these steps.
    #[must_use]
    pub fn new(steps: Vec<JournalStep>) -> Self {
        Self { steps }
    }

    /// The steps, in order.
    #[must_use]
    pub fn steps(&self) -> &[JournalStep] {
        &self.steps
    }

    /// The number of the next step.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.steps.len() as u64 + 1
    }

    /// The result of a finished tool call: a resumed turn uses it instead of calling again.
    #[must_use]
    pub fn result_of(&self, wanted: &CallId) -> Option<&ToolResult> {
        self.steps.iter().rev().find_map(|step| match step {
            JournalStep::ToolFinished(result) if result.call == *wanted => Some(result),
            _ => None,
        })
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
