//! The inbox and the outbox of the agent, with full texts. A message is durable before the client gets a response. A
//! turn consumes its messages, stores its replies and updates the history in one transaction.

mod attempts;
mod finish;
mod inbox;
mod list;
mod outbox;

pub use finish::{BatchOutcome, FinishedBatch, Unanswered};
pub use inbox::{InboxMessage, NewInboxMessage, StageOutcome, Staged, WaitingLimits};
pub use outbox::{NewOutboxMessage, OutboxMessage};
