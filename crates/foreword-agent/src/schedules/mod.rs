//! What runs by the clock. When something is due is decided in `foreword_core::schedule`, which node gets it in the
//! store; here is who wakes up, and what is then done.
//!
//! Nothing is done twice: each due time of a schedule is claimed once, whichever node is first, and what a firing says
//! has a key made of both. Nothing is lost: a firing whose node is gone is taken over by another.

mod actions;
mod at_work;
mod clockwork;
mod conversation;
mod fire_now;
mod firing;
mod heartbeat;
mod plan;
mod view;

pub(crate) use at_work::AtWork;
pub use clockwork::{Clockwork, News};
pub(crate) use conversation::CONVERSATION;
pub use fire_now::{FireNow, Fired, Heard};
pub use view::ScheduleView;
