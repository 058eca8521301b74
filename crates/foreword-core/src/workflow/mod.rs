//! A run of a workflow as a value: the next step, resuming an interrupted or failed run, and nesting. Runs nothing.

mod nesting;
mod run;

pub use nesting::{ChainRefused, MAX_DEPTH, enter, find_cycle};
pub use run::{
    CannotResume, NextStep, OpenStep, PlannedStep, Reopen, Resume, StepChanged, StepRecord, StepState, next,
    reopen, step_with_unknown_outcome, unchanged,
};
