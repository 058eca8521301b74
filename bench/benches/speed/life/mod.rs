//! What an agent does by itself: answer its inbox, and live by the clock.

pub(crate) mod inbox;
mod lateness;
mod scene;
pub(crate) mod schedules;
