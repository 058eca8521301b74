//! The inputs of a turn, from one snapshot: history, agent, settings and current epoch.
//!
//! They may be read while the turn's message is still being committed. Gaps in the message numbers reveal whether
//! anything has changed in between, without another query.

use std::sync::Arc;

use foreword_core::hand_over::HandOver;
use foreword_core::history::History;
use foreword_core::id::ConversationId;
use foreword_prompt::epoch::Dependencies;

use crate::conversation_settings::{self, VersionedSettings};
use crate::engine::{Access, Operation, Transaction};
use crate::epochs::{self, CurrentEpoch, ProposedEpoch, StoredEpoch};
use crate::error::StoreError;
use crate::hand_overs;
use crate::messages;
use crate::store::Store;
use crate::turns::StartedTurn;

/// The inputs of a turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TurnInputs {
    /// The live history at every trust: see [`History::at_trust`].
    pub history: History,
    /// The current agent and the hand-overs so far; `None` if there is no conversation yet.
    pub agent: Option<(String, Vec<HandOver>)>,
    /// The conversation's settings.
    pub settings: VersionedSettings,
    /// The newest epoch. Its text is not verified yet.
    pub(crate) epoch: Option<StoredEpoch>,
}

impl TurnInputs {
    /// What the newest epoch was built from; `None` if nothing is frozen yet.
    #[must_use]
    pub fn epoch_dependencies(&self) -> Option<&Dependencies> {
        self.epoch.as_ref().map(|epoch| &epoch.dependencies)
    }

    /// The inputs after `begun` has begun and taken its messages. `None` if anything else has changed: then they must
    /// be read again.
    #[must_use]
    pub fn followed_by(mut self, begun: &StartedTurn) -> Option<Self> {
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
    /// The inputs of a turn; empty if there is no such conversation.
    pub async fn turn_inputs(&self, conversation: &ConversationId) -> Result<TurnInputs, StoreError> {
        self.run(Read(conversation.clone())).await
    }

    /// As [`Store::epoch_for`], for a caller that has read the conversation already.
    ///
    /// # Errors
    /// As [`Store::epoch_for`].
    pub async fn epoch_after(
        &self,
        inputs: TurnInputs,
        proposed: ProposedEpoch,
    ) -> Result<CurrentEpoch, StoreError> {
        match epochs::reusable(inputs.epoch, &proposed)? {
            Some(reused) => Ok(reused),
            None => self.run(epochs::Open(Arc::new(proposed))).await,
        }
    }
}

struct Read(ConversationId);

impl Operation for Read {
    type Output = TurnInputs;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<TurnInputs, StoreError> {
        let history = messages::live(sql, &self.0).await?;
        let agent = hand_overs::agent_of(sql, &self.0).await?;
        let settings = conversation_settings::read(sql, &self.0).await?.unwrap_or_default();
        Ok(TurnInputs { history, agent, settings, epoch: epochs::newest(sql, &self.0).await? })
    }
}
