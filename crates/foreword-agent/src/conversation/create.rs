//! Creates conversations, either explicitly or with their first message.

use std::sync::Arc;

use foreword_core::event::{Event, EventType};
use foreword_core::id::ConversationId;
use foreword_core::timestamp::Timestamp;
use foreword_store::conversation_settings::ConversationSettings;
use foreword_store::conversations::{Created, NewConversation};
use serde_json::json;

use crate::agent::Agent;
use crate::background::{inbox, schedules, workflows};
use crate::conversation::agent_routing;
use crate::conversation::inbound::TurnOrigin;
use crate::conversation::settings::checked;
use crate::error::AgentError;
use crate::shared::Shared;

/// A conversation to create without a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConversationSpec {
    /// The id. Default: a new one.
    pub id: Option<ConversationId>,
    /// The user, channel, situation and agent.
    pub origin: TurnOrigin,
    /// The display name.
    pub title: Option<String>,
    /// The settings. They are validated; the caller checks permissions.
    pub settings: ConversationSettings,
}

impl Agent {
    /// Creates a conversation. An existing one with this id stays unchanged.
    ///
    /// # Errors
    /// If there is no such agent, or it can't be stored.
    pub async fn create_conversation(&self, spec: ConversationSpec) -> Result<Created, AgentError> {
        let shared = self.shared();
        let ConversationSpec { id, origin, title, settings } = spec;
        let _snapshot = agent_routing::snapshot(shared, origin.speaker.agent.as_deref())?;
        let settings = checked(shared, settings.into(), origin.speaker.agent.as_deref())?
            .applied_to(&ConversationSettings::default());
        let id = id.map_or_else(|| shared.clock_and_rng.id("c"), Ok)?;
        let who = origin.principal(shared);
        Creation { id, title, settings, at: shared.now() }.run(shared, &who.occasion).await
    }
}

/// Whether the id is reserved for conversations that the agent creates itself: for inbox batches, own turns, schedules
/// and workflows.
///
/// ```
/// use foreword_agent::conversation::create::is_agents_own;
///
/// assert!(is_agents_own(&"schedule-morning".parse()?) && is_agents_own(&"autonomous".parse()?));
/// assert!(!is_agents_own(&"scheduled".parse()?) && !is_agents_own(&"signal:alice".parse()?));
/// # Ok::<(), foreword_core::id::BadId>(())
/// ```
#[must_use]
pub fn is_agents_own(id: &ConversationId) -> bool {
    let beginnings = [inbox::CONVERSATION, schedules::CONVERSATION, workflows::CONVERSATION];
    inbox::is_own(id) || beginnings.iter().any(|spec| id.as_str().starts_with(spec))
}

/// Creates a conversation, unless it exists, and logs it.
pub(crate) async fn create_if_missing(
    shared: &Shared,
    id: ConversationId,
    occasion: &foreword_prompt::occasion::Occasion,
    at: Timestamp,
) -> Result<Created, AgentError> {
    Creation { id, title: None, settings: ConversationSettings::default(), at }.run(shared, occasion).await
}

/// A conversation to create.
struct Creation {
    id: ConversationId,
    title: Option<String>,
    settings: ConversationSettings,
    at: Timestamp,
}

impl Creation {
    /// Creates the conversation for the user of `occasion`, unless it exists, and logs it.
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
            one_of_several: agent_routing::has_several(shared),
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
