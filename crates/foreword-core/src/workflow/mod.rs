//! A run of a workflow as a value: what comes next given how far its steps came, what to do with one that was cut off or
//! failed, and which workflows may run within which. Runs nothing.

mod chain;
mod run;

pub use chain::{ChainRefused, MAX_DEPTH, enter, way_back};
pub use run::{
    CannotResume, Changed, Next, OpenStep, PlannedStep, Reopen, Resume, StepRecord, StepState, in_doubt,
    next, reopen, unchanged,
};
