//! What the next batch would be told, for whoever wants to see it before it is answered. Begins nothing and changes
//! nothing.

use std::sync::Arc;

use foreword_core::id::InboxId;
use foreword_core::sender::ANSWER_THE_INBOX;
use foreword_prompt::layer::{Dynamic, Source};
use foreword_workspace::build::Built;

use super::context::situate;
use super::picking::{Picked, pick};
use crate::agent::Agent;
use crate::building::build;
use crate::error::AgentError;
use crate::inbound::Purpose;
use crate::prepare::{Placed, request};
use crate::whose;

/// The batch that is answered next, as things stand.
#[derive(Debug, Clone)]
pub struct Preview {
    /// Its messages, in the order they came.
    pub messages: Vec<InboxId>,
    /// The user they are from; `None` if they are from strangers.
    pub user: Option<Arc<str>>,
    /// The words its turn would begin with. Where the prompt has no layer for what the agent has to know, that is in them.
    pub words: String,
    /// The prompt it would have.
    pub built: Arc<Built>,
}

impl Preview {
    /// The layer with how the agent stands, what waits, what was said before with these senders, and what it noted; if the
    /// prompt has one.
    #[must_use]
    pub fn situation(&self) -> Option<&str> {
        let of_situation = Source::Dynamic(Dynamic::Situation);
        let found = self.built.prompt.turn.iter().find(|turn| turn.segment.layer.source == of_situation);
        found.map(|turn| &*turn.text)
    }
}

impl Agent {
    /// The batch of the inbox that would be answered now, with all that its turn would be told. `None` if nothing waits.
    ///
    /// # Errors
    /// If the store can't be read, or the prompt can't be made.
    pub async fn preview_batch(&self) -> Result<Option<Preview>, AgentError> {
        let shared = self.shared();
        let config = Arc::clone(&shared.workspace.snapshot().config);
        let Some(Picked { conversation, occasion, .. }) = pick(shared, &config).await? else {
            return Ok(None);
        };
        let placed = Placed::at(shared, conversation, occasion);
        let words = self.words(&config, &placed, ANSWER_THE_INBOX).await?;
        let view = whose::view(shared, &placed, None).await?;
        let settings = shared.store.conversation_settings(&placed.conversation).await?;
        let mut request = request(shared, &placed, &view, &settings).await?;
        situate(shared, &placed, &view.snapshot.config, &mut request).await?;
        let model = request.identify(&view.snapshot.config).occasion.model;
        request.calibration = shared.calibrations.factor(&view.snapshot.config, &model);
        let built = build(shared, request).await?;
        let messages = match placed.occasion.purpose {
            Purpose::Inbox { messages } => messages,
            _ => Vec::new(),
        };
        Ok(Some(Preview { messages, user: placed.occasion.user, words, built }))
    }
}
