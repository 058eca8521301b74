//! The agent's background work: inbox and schedules.

mod fixture;
pub(crate) mod inbox;
mod lateness;
pub(crate) mod schedules;
