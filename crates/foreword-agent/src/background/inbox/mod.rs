//! The inbox: answers incoming messages in batches, and runs autonomous turns when none are pending.
//! `foreword_core::sender` decides which messages form a batch.
//!
//! Every batch has its own conversation, so that no sender's text enters another sender's history. Its turn is tainted
//! from the start. One transaction at the end consumes the messages and queues the replies, so that a crash loses
//! nothing and sends nothing twice.

mod batch;
#[cfg(unix)]
mod command;
#[cfg(not(unix))]
#[path = "no_command.rs"]
mod command;
mod context;
mod finish;
mod own_time;
mod preview;
mod reply;
mod stage;
mod state;
mod tick;

pub(crate) use batch::CONVERSATION;
pub(crate) use context::{add_inbox_context, obligations};
pub(crate) use finish::settle;
pub(crate) use own_time::is_own;
pub use preview::BatchPreview;
pub use reply::{InboxEvent, InboxWorker};
pub use stage::{MAX_BODY_BYTES, StageError, stage};
pub use tick::{Tick, TickOutcome};
