//! The way into the inbox: what is too long or too much is refused, everything else is durable before whoever brought it
//! is told.

use foreword_core::event::{Event, EventType};
use foreword_core::sender::SenderAddress;
use foreword_prompt::occasion::Channel;
use foreword_prompt::text::with_thousands;
use foreword_store::error::StoreError;
use foreword_store::mailboxes::{Brought, NewInboxMessage, Staged, WaitingLimits};
use foreword_store::store::Store;
use foreword_workspace::config::Config;
use serde_json::json;

use crate::agent::Agent;

/// The longest message, in bytes.
pub const LONGEST_BODY: usize = 64 * 1024;

/// Why a message was not taken.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    /// There is nothing to answer.
    #[error("a message without words can't be answered")]
    NoWords,
    /// It is too long.
    #[error("the message has {} bytes, {} are allowed", with_thousands(*size), with_thousands(LONGEST_BODY))]
    TooLong {
        /// What it has.
        size: usize,
    },
    /// Too many of one sender wait.
    #[error(
        "{limit} messages of this sender wait already: they are answered first (`inbox.max_waiting_per_sender`)"
    )]
    SenderHasTooMany {
        /// How many may.
        limit: u64,
    },
    /// Too many wait.
    #[error("{limit} messages wait already: they are answered first (`inbox.max_waiting`)")]
    TooManyInAll {
        /// How many may.
        limit: u64,
    },
    /// It can't be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Puts a message into the inbox, as far as `config` lets it in. Gives what belongs into the log, if it is new.
///
/// # Errors
/// Why it was not taken; then nothing has changed.
pub async fn stage(
    store: &Store,
    config: &Config,
    new: NewInboxMessage,
) -> Result<(Staged, Option<Event>), NotTaken> {
    if new.body.trim().is_empty() {
        return Err(NotTaken::NoWords);
    }
    if new.body.len() > LONGEST_BODY {
        return Err(NotTaken::TooLong { size: new.body.len() });
    }
    let limits =
        WaitingLimits { per_sender: config.inbox.max_waiting_per_sender, in_all: config.inbox.max_waiting };
    match store.stage_within(new, limits).await? {
        Brought::SenderHasTooMany { limit } => Err(NotTaken::SenderHasTooMany { limit }),
        Brought::TooManyInAll { limit } => Err(NotTaken::TooManyInAll { limit }),
        Brought::In(again @ Staged::Again(_)) => Ok((again, None)),
        Brought::In(Staged::New(message)) => {
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

/// The channel a sender writes from.
pub(super) fn channel_of(sender: &SenderAddress) -> Channel {
    Channel::new(&format!("inbox:{sender}"))
}

impl Agent {
    /// Puts a message into this agent's inbox.
    ///
    /// # Errors
    /// Why it was not taken; then nothing has changed.
    pub async fn stage(&self, new: NewInboxMessage) -> Result<Staged, NotTaken> {
        let shared = self.shared();
        let config = std::sync::Arc::clone(&shared.workspace.snapshot().config);
        let (staged, event) = stage(&shared.store, &config, new).await?;
        event.into_iter().for_each(|event| shared.log(event));
        Ok(staged)
    }
}
