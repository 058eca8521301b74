//! Work that no user waits for: the inbox, schedules, workflows and compaction.

pub mod compaction;
pub mod inbox;
pub mod schedules;
pub mod workflows;
