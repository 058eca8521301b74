//! The scope of a turn: its conversation, origin and trust, and the steps that depend on its purpose.

use std::sync::Arc;

use foreword_core::id::{ConversationId, InboxId, TurnId};
use foreword_core::sender::SenderAddress;
use foreword_core::taint::Taint;
use foreword_core::turn::TurnMessage;
use foreword_prompt::trust::Trust;
use foreword_workspace::config::Config;
use foreword_workspace::request::Request;
use foreword_workspace::speaker::Speaker;

use crate::background::inbox;
use crate::conversation::feed::Feed;
use crate::conversation::inbound::TurnOrigin;
use crate::error::AgentError;
use crate::shared::Shared;

/// The conversation, origin and trust of a turn.
#[derive(Debug, Clone)]
pub(crate) struct TurnScope {
    pub(crate) conversation: ConversationId,
    pub(crate) origin: TurnOrigin,
    /// The trust at which the messages were accepted, an upper bound for the turn.
    pub(crate) accepted_at: Trust,
}

impl TurnScope {
    /// The scope before a message is accepted, at the trust of the origin.
    pub(crate) fn at(shared: &Shared, conversation: ConversationId, origin: TurnOrigin) -> Self {
        let accepted_at = origin.principal(shared).trust.effective();
        Self { conversation, origin, accepted_at }
    }

    /// The effective trust under the current configuration.
    pub(crate) fn trust(&self, shared: &Shared) -> Trust {
        self.origin.principal(shared).trust.effective().meet(self.accepted_at)
    }

    /// The speaker for the prompt of `agent`, limited to the trust of the messages.
    pub(crate) fn speaker(&self, agent: Option<Arc<str>>) -> Speaker {
        Speaker { agent, audience: Some(self.accepted_at), ..self.origin.speaker.clone() }
    }

    /// Adds the data of the situation layer to the prompt request. Returns the taint that this data carries.
    pub(crate) async fn add_situation(
        &self,
        shared: &Shared,
        config: &Config,
        request: &mut Request,
    ) -> Result<Taint, AgentError> {
        Box::pin(inbox::add_inbox_context(shared, self, config, request)).await
    }

    /// The inbox messages that the turn must reply to, each with its sender.
    pub(crate) async fn obligations(
        &self,
        shared: &Shared,
    ) -> Result<Vec<(InboxId, SenderAddress)>, AgentError> {
        inbox::obligations(shared, self).await
    }

    /// Stores the replies of a turn that has completed, before the turn itself is stored as finished.
    pub(crate) async fn settle(
        &self,
        shared: &Shared,
        turn: &TurnId,
        messages: &[TurnMessage],
        feed: &Feed,
    ) -> Result<(), AgentError> {
        Box::pin(inbox::settle(shared, self, turn, messages, feed)).await
    }
}
