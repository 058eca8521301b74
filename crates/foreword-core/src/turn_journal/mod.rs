//! What a turn has done, step by step, and what becomes of it after a crash. A step is written before the next thing is
//! begun, so what the journal does not say has not been begun. Decides only; the store writes.

mod after_crash;
mod state;
mod step;

pub use after_crash::{AfterCrash, WhyReported};
pub use state::{Outcome, TurnState};
pub use step::{PromptBuilt, Step, ToolResult};

use crate::id::CallId;

/// The steps of a turn, in order; the first is number 1.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Journal {
    steps: Vec<Step>,
}

/// Where a step goes that somebody wants written at a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Behind the last one.
    Next,
    /// It stands there already, word for word.
    Already,
}

/// Why a step can't be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepRefused {
    /// There is another one.
    #[error("another step stands there")]
    Taken,
    /// Those before it are missing.
    #[error("the next step is {next}")]
    Gap {
        /// The number that is free.
        next: u64,
    },
    /// It is written when the turn begins or ends, with what belongs to it, and not by itself.
    #[error("`{kind}` is written when a turn begins or ends")]
    NotByItself {
        /// Its kind.
        kind: String,
    },
}

/// Decides where `step` goes, if its writer thinks that it is step `number`. `next` is the number that is free, and
/// `there` the step that stands at `number`.
///
/// # Errors
/// If another step stands there, or steps before it are missing.
pub fn place(number: u64, step: &Step, next: u64, there: Option<&Step>) -> Result<Place, StepRefused> {
    if matches!(step.kind(), "accepted" | "replied") {
        return Err(StepRefused::NotByItself { kind: step.kind().to_owned() });
    }
    match there {
        Some(there) if there == step => Ok(Place::Already),
        Some(_) => Err(StepRefused::Taken),
        None if number == next => Ok(Place::Next),
        None => Err(StepRefused::Gap { next }),
    }
}

impl Journal {
    /// The journal with these steps.
    #[must_use]
    pub fn new(steps: Vec<Step>) -> Self {
        Self { steps }
    }

    /// The steps, in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The number of the step that is written next.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.steps.len() as u64 + 1
    }

    /// What a call of a tool gave, if it has ended: a turn that is resumed takes it from here and does not call again.
    #[must_use]
    pub fn result_of(&self, wanted: &CallId) -> Option<&ToolResult> {
        self.steps.iter().rev().find_map(|step| match step {
            Step::ToolFinished(result) if result.call == *wanted => Some(result),
            _ => None,
        })
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
