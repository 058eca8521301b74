//! What others left for the agent, and what the agent left for them, in full. A message is durable before whoever
//! brought it is told; a turn takes its messages out, answers and remembers in one step, so that a crash leaves all of it
//! or nothing.

mod attempts;
mod finish;
mod inbox;
mod listing;
mod outbox;

pub use finish::{Finished, FinishedBatch, Unanswered};
pub use inbox::{Brought, InboxMessage, NewInboxMessage, Staged, WaitingLimits};
pub use outbox::{NewOutboxMessage, OutboxMessage};
