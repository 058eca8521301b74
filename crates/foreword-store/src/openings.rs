//! What a turn reads before it can begin, as of one moment: the history, the agent it belongs to and the epoch in force.
//!
//! It may be read while the turn's message is still becoming durable. Whether anything has happened in between is known
//! without asking: the messages of a conversation are numbered without a gap.

use foreword_core::hand_over::HandOver;
use foreword_core::history::History;
use foreword_core::id::ConversationId;
use foreword_prompt::epoch::Dependencies;

use crate::conversation_settings::{self, VersionedSettings};
use crate::engine::{Access, Operation, Sql};
use crate::epochs::{self, StoredEpoch};
use crate::error::StoreError;
use crate::hand_overs;
use crate::messages;
use crate::store::Store;
use crate::turns::Begun;

/// What a turn reads first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Opening {
    /// Everything a model reads of the conversation, whatever trust it was written at: see [`History::at_trust`].
    pub history: History,
    /// The agent that has the conversation, and how it came to it; `None` if there is no conversation yet.
    pub agent: Option<(String, Vec<HandOver>)>,
    /// The conversation's settings.
    pub settings: VersionedSettings,
    /// The newest epoch. Its text has not been looked at yet.
    pub(crate) epoch: Option<StoredEpoch>,
}

impl Opening {
    /// What the newest epoch was built from; `None` if nothing is frozen yet.
    #[must_use]
    pub fn epoch_dependencies(&self) -> Option<&Dependencies> {
        self.epoch.as_ref().map(|epoch| &epoch.dependencies)
    }

    /// What would have been read now that `begun` has begun and the messages it has taken up are durable.
    /// `None` if something else has happened since: then it has to be read again.
    #[must_use]
    pub fn followed_by(mut self, begun: &Begun) -> Option<Self> {
        if begun.settings_version != self.settings.version {
            return None;
        }
        for message in &begun.messages {
            let is_next = message.seq == self.history.last() + 1;
            let known = self.history.messages.iter_mut().find(|known| known.message.id == message.message.id);
            match known {
                Some(known) => known.clone_from(message),
                None if is_next => self.history.messages.push(message.clone()),
                None => return None,
            }
        }
        Some(self)
    }
}

impl Store {
    /// What a turn reads first; empty if there is no such conversation.
    ///
    /// # Errors
    /// If it can't be read.
    pub async fn opening(&self, conversation: &ConversationId) -> Result<Opening, StoreError> {
        self.run(Read(conversation.clone())).await
    }
}

struct Read(ConversationId);

impl Operation for Read {
    type Output = Opening;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Opening, StoreError> {
        let history = messages::live(sql, &self.0).await?;
        let agent = hand_overs::agent_of(sql, &self.0).await?;
        let settings = conversation_settings::read(sql, &self.0).await?.unwrap_or_default();
        Ok(Opening { history, agent, settings, epoch: epochs::newest(sql, &self.0).await? })
    }
}
