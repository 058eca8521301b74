//! Routes conversations to agents. The first message of a conversation determines its agent. If that agent is no longer
//! configured, no other agent answers in its place, because its tools and files may differ.

use std::sync::Arc;

use foreword_core::id::ConversationId;
use foreword_core::price::CacheTtl;
use foreword_store::proxied::is_proxied;
use foreword_workspace::config::Roster;
use foreword_workspace::snapshot::Snapshot;

use crate::conversation::inbound::Inbound;
use crate::error::AgentError;
use crate::shared::Shared;
use crate::turn::scope::TurnScope;

/// The workspace as the answering agent sees it.
pub(crate) struct View {
    pub(crate) snapshot: Arc<Snapshot>,
    /// The name of the agent, if several are configured.
    pub(crate) agent: Option<Arc<str>>,
}

/// The view of the agent that answers in `scope`. `agent` is the agent of the conversation, if the caller knows it.
pub(crate) async fn view(
    shared: &Shared,
    scope: &TurnScope,
    agent: Option<&str>,
) -> Result<View, AgentError> {
    let snapshot = shared.workspace.snapshot();
    let named = scope.origin.speaker.agent.clone();
    if !snapshot.config.roster.has_several() {
        check_not_removed(shared, scope, agent, &snapshot).await?;
        return Ok(View { snapshot, agent: named });
    }
    let of_conversation = match agent {
        Some(agent) => Some(agent.to_owned()),
        None => shared.store.conversation(&scope.conversation).await?.map(|found| found.agent),
    };
    let Some(name) = of_conversation else {
        return Ok(View { snapshot: snapshot.of_agent(named.as_deref())?, agent: named });
    };
    let Ok(own) = snapshot.of_agent(Some(&name)) else {
        return Err(gone(&scope.conversation, name, &snapshot.config.roster));
    };
    Ok(View { snapshot: own, agent: Some(name.into()) })
}

/// Rejects conversations of removed agents where one agent is left. A conversation with another agent name is accepted
/// if the only agent may have been renamed: it began with one agent and was never handed over.
async fn check_not_removed(
    shared: &Shared,
    scope: &TurnScope,
    agent: Option<&str>,
    snapshot: &Snapshot,
) -> Result<(), AgentError> {
    let (store, roster) = (&shared.store, &snapshot.config.roster);
    let of_conversation = match agent {
        Some(agent) => Some(agent.to_owned()),
        None => store.conversation(&scope.conversation).await?.map(|found| found.agent),
    };
    let Some(name) = of_conversation.filter(|name| roster.find(name).is_none()) else { return Ok(()) };
    let began = store.conversation(&scope.conversation).await?;
    let had_company = began.is_some_and(|began| began.one_of_several)
        || !store.hand_overs(&scope.conversation).await?.is_empty();
    if had_company { Err(gone(&scope.conversation, name, roster)) } else { Ok(()) }
}

/// Whether several agents are configured.
pub(crate) fn has_several(shared: &Shared) -> bool {
    shared.workspace.snapshot().config.roster.has_several()
}

/// The workspace as `agent` sees it. Without a name, or with only one agent, the view of the first agent.
pub(crate) fn snapshot(shared: &Shared, agent: Option<&str>) -> Result<Arc<Snapshot>, AgentError> {
    let snapshot = shared.workspace.snapshot();
    if snapshot.config.roster.has_several() { Ok(snapshot.of_agent(agent)?) } else { Ok(snapshot) }
}

fn gone(conversation: &ConversationId, agent: String, roster: &Roster) -> AgentError {
    AgentError::AgentGone { conversation: conversation.clone(), agent, known: roster.names() }
}

/// The configured cache lifetime for the conversations of `agent`.
pub(crate) fn cache_ttl(shared: &Shared, agent: &str) -> CacheTtl {
    let snapshot = shared.workspace.snapshot();
    let own = snapshot.of_agent(Some(agent));
    own.as_ref().unwrap_or(&snapshot).config.cache_ttl
}

/// Rejects a message for an unknown agent, for another agent than that of the conversation, or in a proxied
/// conversation.
pub(crate) async fn check(shared: &Shared, inbound: &Inbound) -> Result<(), AgentError> {
    if is_proxied(&inbound.conversation) {
        return Err(AgentError::ProxiedConversation(inbound.conversation.clone()));
    }
    let snapshot = shared.workspace.snapshot();
    let roster = &snapshot.config.roster;
    let Some(name) = inbound.origin.speaker.agent.as_deref().filter(|_| roster.has_several()) else {
        return Ok(());
    };
    let wanted = Arc::clone(&snapshot.of_agent(Some(name))?.config.agent.name);
    match shared.store.conversation(&inbound.conversation).await? {
        Some(found) if *found.agent != *wanted => Err(AgentError::OtherAgent {
            conversation: inbound.conversation.clone(),
            agent: found.agent,
            wanted: wanted.to_string(),
        }),
        _ => Ok(()),
    }
}
