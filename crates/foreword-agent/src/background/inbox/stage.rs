//! Puts messages into the inbox: enforces the limits, and returns after the message is durable.

use foreword_core::event::{Event, EventType};
use foreword_core::sender::SenderAddress;
use foreword_prompt::occasion::Channel;
use foreword_prompt::text::with_thousands;
use foreword_store::error::StoreError;
use foreword_store::mailboxes::{NewInboxMessage, StageOutcome, Staged, WaitingLimits};
use foreword_store::store::Store;
use foreword_workspace::config::Config;
use serde_json::json;

use crate::agent::Agent;

/// Maximum size of a message.
pub const MAX_BODY_BYTES: usize = 64 * 1024;

/// Why a message was rejected.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The message is empty.
    #[error("the message is empty")]
    EmptyMessage,
    /// The message is too long.
    #[error("the message has {} bytes, {} are allowed", with_thousands(*size), with_thousands(MAX_BODY_BYTES))]
    TooLong {
        /// Its size in bytes.
        size: usize,
    },
    /// The sender has too many pending messages.
    #[error(
        "{limit} messages of this sender are already pending: wait until they are answered (`inbox.max_waiting_per_sender`)"
    )]
    SenderLimitReached { limit: u64 },
    /// Too many messages are pending.
    #[error("{limit} messages are already pending: wait until they are answered (`inbox.max_waiting`)")]
    TotalLimitReached { limit: u64 },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Puts a message into the inbox, within the limits of `config`. Returns the event to log, if the message is new.
///
/// # Errors
/// If the message is rejected; nothing has changed then.
pub async fn stage(
    store: &Store,
    config: &Config,
    new: NewInboxMessage,
) -> Result<(Staged, Option<Event>), StageError> {
    if new.body.trim().is_empty() {
        return Err(StageError::EmptyMessage);
    }
    if new.body.len() > MAX_BODY_BYTES {
        return Err(StageError::TooLong { size: new.body.len() });
    }
    let limits =
        WaitingLimits { per_sender: config.inbox.max_waiting_per_sender, in_all: config.inbox.max_waiting };
    match store.stage_within(new, limits).await? {
        StageOutcome::SenderLimitReached { limit } => Err(StageError::SenderLimitReached { limit }),
        StageOutcome::TotalLimitReached { limit } => Err(StageError::TotalLimitReached { limit }),
        StageOutcome::Staged(again @ Staged::Again(_)) => Ok((again, None)),
        StageOutcome::Staged(Staged::New(message)) => {
            let channel = channel_of(&message.sender);
            let event = Event {
                user_id: config.user_at(&channel).map(|user| user.name.clone()),
                channel: Some(channel.as_str().into()),
                metadata: Some(json!({
                    "message": message.id.as_str(), "sender": message.sender.as_str(), "length": message.body.len(),
                })),
                ..Event::new(EventType::MessageReceived, message.received_at)
            };
            Ok((Staged::New(message), Some(event)))
        }
    }
}

/// The channel of a sender.
pub(super) fn channel_of(sender: &SenderAddress) -> Channel {
    Channel::new(&format!("inbox:{sender}"))
}

impl Agent {
    /// Puts a message into this agent's inbox.
    ///
    /// # Errors
    /// If the message is rejected; nothing has changed then.
    pub async fn stage(&self, new: NewInboxMessage) -> Result<Staged, StageError> {
        let shared = self.shared();
        let config = std::sync::Arc::clone(&shared.workspace.snapshot().config);
        let (staged, event) = stage(&shared.store, &config, new).await?;
        event.into_iter().for_each(|event| shared.log(event));
        Ok(staged)
    }
}
