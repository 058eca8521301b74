//! Senders of inbox messages: addresses, batches and histories. Pure decisions; loading, writing and rendering happen
//! elsewhere.

mod address;
mod batch;
mod failure_source;
mod history;
#[cfg(test)]
mod properties;
mod replies;
mod retry_pause;
mod shorten;
mod turn_prompts;

use crate::id::{InboxId, TurnId};
use crate::string_enum::string_enum;
use crate::timestamp::Timestamp;

pub use address::{BadAddress, SenderAddress};
pub use batch::{
    BATCH_WINDOW, MAX_ATTEMPTS, MAX_BATCH_MESSAGES_PER_SENDER, MAX_BATCH_SENDERS, MessageBatch, NextBatch,
    WaitingMessage, is_set_aside_after, next_batch,
};
pub use failure_source::{FailureSource, failure_source};
pub use history::{
    AnsweredMessage, HistoryLimits, KnownSender, SenderPlan, SenderReply, Senders, SkipReason, SkippedSender,
    exchanges, first_kept, plan_senders,
};
pub use replies::{
    MAX_REPLIES_PER_MESSAGE, MAX_REPLY_BYTES, READ_TOOL, REPLY_TOOL, answers_to, called_replies,
    message_named, replies, unanswered,
};
pub use retry_pause::{BatchOrder, FailureStreak, not_before, pause_after};
pub use shorten::shorten;
pub use turn_prompts::{INBOX_TURN_PROMPT, OWN_TURN_PROMPT};

/// A sender's message and the agent's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SenderExchange {
    /// The sender's message; the inbox has the full text.
    pub inbox_message: InboxId,
    /// Who sent it.
    pub sender: SenderAddress,
    /// The text of the message.
    pub body: String,
    /// The answer to it; `None` if the agent answered only other messages of this sender.
    pub reply: Option<String>,
    /// The turn that answered.
    pub turn: TurnId,
    /// When it answered.
    pub at: Timestamp,
}

string_enum! {
    /// The state of an inbox message.
    InboxState = "message state" {
        /// It waits for a turn.
        Staged = "staged",
        /// A turn has processed it.
        Consumed = "consumed",
        /// Turns failed because of it repeatedly. It waits for a person.
        SetAside = "set_aside",
    }
}
