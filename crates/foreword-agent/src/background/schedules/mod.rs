//! Schedules: the scheduler task and the actions of firings. `foreword_core::schedule` decides when a schedule is due,
//! and the store decides which node gets the firing.
//!
//! Nothing runs twice: one node claims each due time of a schedule, and messages have an idempotency key of schedule
//! and due time. Nothing is lost: another node takes over the firings of a dead node.

mod actions;
mod conversation;
mod fire;
mod fire_now;
mod heartbeat;
mod running_firings;
mod scheduler;
mod timetable;
mod view;

pub(crate) use conversation::CONVERSATION;
pub use fire_now::{FireNow, FiringFeed, FiringResult};
pub(crate) use running_firings::RunningFirings;
pub use scheduler::{ScheduleEvent, Scheduler};
pub use view::ScheduleView;
