//! A preview of the next batch and its prompt. Starts and changes nothing.

use std::sync::Arc;

use foreword_core::id::InboxId;
use foreword_core::sender::INBOX_TURN_PROMPT;
use foreword_prompt::layer::{Dynamic, Source};
use foreword_workspace::build::Built;

use super::batch::{PlannedBatch, next_planned_batch};
use super::context::add_inbox_context;
use crate::agent::Agent;
use crate::conversation::agent_routing;
use crate::conversation::inbound::Purpose;
use crate::error::AgentError;
use crate::prompt::build::build;
use crate::turn::prepare::request;
use crate::turn::scope::TurnScope;

/// The next batch.
#[derive(Debug, Clone)]
pub struct BatchPreview {
    /// Its messages, in order of arrival.
    pub messages: Vec<InboxId>,
    /// The user who sent them; `None` for unknown senders.
    pub user: Option<Arc<str>>,
    /// The first message of its turn. Contains the context if the prompt has no situation layer.
    pub words: String,
    /// Its prompt.
    pub built: Arc<Built>,
}

impl BatchPreview {
    /// The text of the situation layer, if the prompt has one.
    #[must_use]
    pub fn situation(&self) -> Option<&str> {
        let of_situation = Source::Dynamic(Dynamic::Situation);
        let found = self.built.prompt.turn.iter().find(|turn| turn.segment.layer.source == of_situation);
        found.map(|turn| &*turn.text)
    }
}

impl Agent {
    /// The batch that would be answered now, with its prompt. `None` if no message is pending.
    ///
    /// # Errors
    /// If the store can't be read, or the prompt can't be built.
    pub async fn preview_batch(&self) -> Result<Option<BatchPreview>, AgentError> {
        let shared = self.shared();
        let config = Arc::clone(&shared.workspace.snapshot().config);
        let Some(PlannedBatch { conversation, occasion, .. }) = next_planned_batch(shared, &config).await?
        else {
            return Ok(None);
        };
        let scope = TurnScope::at(shared, conversation, occasion);
        let words = self.turn_text(&config, &scope, INBOX_TURN_PROMPT).await?;
        let view = agent_routing::view(shared, &scope, None).await?;
        let settings = shared.store.conversation_settings(&scope.conversation).await?;
        let mut request = request(shared, &scope, &view, &settings).await?;
        add_inbox_context(shared, &scope, &view.snapshot.config, &mut request).await?;
        let model = request.principal(&view.snapshot.config).occasion.model;
        request.calibration = shared.calibrations.factor(&view.snapshot.config, &model);
        let built = build(shared, request).await?;
        let messages = match scope.origin.purpose {
            Purpose::Inbox { messages } => messages,
            _ => Vec::new(),
        };
        Ok(Some(BatchPreview { messages, user: scope.origin.speaker.user, words, built }))
    }
}
