//! Conversations that begin: with their first message, or before anything is said.

use std::sync::Arc;

use foreword_core::event::{Event, EventType};
use foreword_core::id::ConversationId;
use foreword_core::timestamp::Timestamp;
use foreword_store::conversation_settings::ConversationSettings;
use foreword_store::conversations::{Created, NewConversation};
use serde_json::json;

use crate::agent::{Agent, request};
use crate::conversation_settings::checked;
use crate::error::AgentError;
use crate::inbound::Occasion;
use crate::shared::Shared;
use crate::{inbox, schedules, whose, workflows};

/// A conversation to begin before anything is said in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Beginning {
    /// Its id. Default: a fresh one.
    pub id: Option<ConversationId>,
    /// Whose it is and where; for which agent.
    pub occasion: Occasion,
    /// A name for people.
    pub title: Option<String>,
    /// Its settings, which are checked. Whoever asks must be allowed to set them.
    pub settings: ConversationSettings,
}

impl Agent {
    /// Begins a conversation. One of that id that is there already stays as it is.
    ///
    /// # Errors
    /// If there is no such agent, or it can't be stored.
    pub async fn begin_conversation(&self, beginning: Beginning) -> Result<Created, AgentError> {
        let shared = self.shared();
        let Beginning { id, occasion, title, settings } = beginning;
        let snapshot = whose::snapshot(shared, occasion.agent.as_deref())?;
        let settings = checked(shared, settings.into(), occasion.agent.as_deref())?
            .applied_to(&ConversationSettings::default());
        let id = id.map_or_else(|| shared.surroundings.id("c"), Ok)?;
        let who = request(shared, &occasion).identify(&snapshot.config);
        Creation { id, title, settings, at: shared.now() }.run(shared, &who.occasion).await
    }
}

/// Whether the agent calls a conversation of its own like this: one of a batch of the inbox, of its own time, of a schedule, or
/// of a workflow. Nobody else begins one of that name.
///
/// ```
/// use foreword_agent::beginning::is_agents_own;
///
/// assert!(is_agents_own(&"schedule-morning".parse()?) && is_agents_own(&"autonomous".parse()?));
/// assert!(!is_agents_own(&"scheduled".parse()?) && !is_agents_own(&"signal:alice".parse()?));
/// # Ok::<(), foreword_core::id::BadId>(())
/// ```
#[must_use]
pub fn is_agents_own(id: &ConversationId) -> bool {
    let beginnings = [inbox::CONVERSATION, schedules::CONVERSATION, workflows::CONVERSATION];
    inbox::is_own(id) || beginnings.iter().any(|beginning| id.as_str().starts_with(beginning))
}

/// Makes a conversation, unless it is there, and tells the log.
pub(crate) async fn make(
    shared: &Shared,
    (id, title): (ConversationId, Option<String>),
    occasion: &foreword_prompt::occasion::Occasion,
    at: Timestamp,
) -> Result<Created, AgentError> {
    Creation { id, title, settings: ConversationSettings::default(), at }.run(shared, occasion).await
}

/// A conversation to create.
struct Creation {
    id: ConversationId,
    title: Option<String>,
    settings: ConversationSettings,
    at: Timestamp,
}

impl Creation {
    /// Creates it for whoever speaks on `occasion`, unless it exists, and logs that.
    async fn run(
        self,
        shared: &Shared,
        occasion: &foreword_prompt::occasion::Occasion,
    ) -> Result<Created, AgentError> {
        let Self { id, title, settings, at } = self;
        let channel = occasion.channel.as_ref().map(|channel| channel.as_str().to_owned());
        let new = NewConversation {
            user: occasion.user.as_deref().map(str::to_owned),
            channel: channel.clone(),
            title,
            settings,
            one_of_several: whose::has_company(shared),
            ..NewConversation::new(id.clone(), &*occasion.agent, &*occasion.situation, at)
        };
        let created = shared.store.create_conversation(new).await?;
        if let Created::New(_) = created {
            shared.log(Event {
                session_id: Some(id),
                agent_id: Some(Arc::clone(&occasion.agent)),
                user_id: occasion.user.clone(),
                channel: channel.as_deref().map(Into::into),
                metadata: Some(json!({ "source": channel, "situation": &*occasion.situation })),
                ..Event::new(EventType::SessionCreated, at)
            });
        }
        Ok(created)
    }
}
