//! What others left for the agent, and what the agent left for them, in full. A message is durable before whoever
//! brought it is told; a turn takes its messages out, answers and remembers in one step, so that a crash leaves all of it
//! or nothing.

mod finish;
mod inbox;
mod outbox;

pub use finish::{Finished, FinishedBatch};
pub use inbox::{InboxMessage, NewInboxMessage, Staged};
pub use outbox::{NewOutboxMessage, OutboxMessage};
