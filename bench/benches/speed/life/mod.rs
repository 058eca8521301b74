//! The agent's background work: inbox and schedules.

pub(crate) mod inbox;
mod lateness;
mod scene;
pub(crate) mod schedules;
