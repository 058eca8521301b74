//! People and programs that write to the agent: how they are told apart, and which part of what was said with them is
//! kept. Decides only; loading, writing and the words a model reads are others' business.

mod address;
mod batch;
mod beginning;
mod fault;
mod history;
mod pause;
#[cfg(test)]
mod properties;
mod replies;
mod shorten;

use crate::id::{InboxId, TurnId};
use crate::timestamp::Timestamp;
use crate::word::words;

pub use address::{BadAddress, SenderAddress};
pub use batch::{
    ATTEMPTS_BEFORE_ASIDE, BATCH_PER_SENDER, BATCH_SENDERS, BATCH_WINDOW, Batch, Next, Waiting,
    is_set_aside_after, next_batch,
};
pub use beginning::{ANSWER_THE_INBOX, OWN_TURN};
pub use fault::{Fault, whose_fault};
pub use history::{
    Answered, HistoryLimits, KnownSender, NotKept, NotKeptReason, Reply, SenderPlan, Senders, exchanges,
    first_kept, plan_senders,
};
pub use pause::{First, Streak, not_before, pause_after};
pub use replies::{
    LONGEST_REPLY, READ_TOOL, REPLIES_PER_MESSAGE, REPLY_TOOL, answers_to, called_replies, message_named,
    replies, unanswered,
};
pub use shorten::shorten;

/// What a sender said, and what the agent answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The sender's message; it is in the inbox in full.
    pub inbox_message: InboxId,
    /// Who sent it.
    pub sender: SenderAddress,
    /// What was said.
    pub body: String,
    /// What the agent answered to it; nothing, if it answered only to other messages of this sender.
    pub reply: Option<String>,
    /// The turn that answered.
    pub turn: TurnId,
    /// When it answered.
    pub at: Timestamp,
}

words! {
    /// What has become of a message of the inbox.
    InboxState = "state of a message" {
        /// It waits for a turn.
        Staged = "staged",
        /// A turn has dealt with it.
        Consumed = "consumed",
        /// Turns keep failing over it. It waits for somebody to look.
        SetAside = "set_aside",
    }
}
