//! Which agent answers. A conversation belongs to an agent, whoever speaks in it; one that is new, to the agent its first
//! message is for. If the agent is not there any more, nobody answers in its place unasked: another one may have other
//! tools, and other files.

use std::sync::Arc;

use foreword_core::id::ConversationId;
use foreword_core::price::CacheTtl;
use foreword_store::proxied::is_passed_through;
use foreword_workspace::config::Roster;
use foreword_workspace::snapshot::Snapshot;

use crate::error::AgentError;
use crate::inbound::Inbound;
use crate::prepare::Placed;
use crate::shared::Shared;

/// The workspace as the agent that answers sees it.
pub(crate) struct View {
    pub(crate) snapshot: Arc<Snapshot>,
    /// Its name, if it is not the only one.
    pub(crate) agent: Option<Arc<str>>,
}

/// The workspace as the agent sees it that answers at `placed`, whose conversation belongs to `agent`, if that is known.
pub(crate) async fn view(shared: &Shared, placed: &Placed, agent: Option<&str>) -> Result<View, AgentError> {
    let snapshot = shared.workspace.snapshot();
    let named = placed.occasion.agent.clone();
    if !snapshot.config.roster.has_company() {
        still_its(shared, placed, agent, &snapshot).await?;
        return Ok(View { snapshot, agent: named });
    }
    let of_conversation = match agent {
        Some(agent) => Some(agent.to_owned()),
        None => shared.store.conversation(&placed.conversation).await?.map(|found| found.agent),
    };
    let Some(name) = of_conversation else {
        return Ok(View { snapshot: snapshot.of_agent(named.as_deref())?, agent: named });
    };
    let Ok(own) = snapshot.of_agent(Some(&name)) else {
        return Err(gone(&placed.conversation, name, &snapshot.config.roster));
    };
    Ok(View { snapshot: own, agent: Some(name.into()) })
}

/// Refuses to let the only agent answer for one that is gone. Whose conversation bears another name may also be the only
/// agent's, from before it was renamed: what shows that there was more than one is how it began, or a hand-over.
async fn still_its(
    shared: &Shared,
    placed: &Placed,
    agent: Option<&str>,
    snapshot: &Snapshot,
) -> Result<(), AgentError> {
    let (store, roster) = (&shared.store, &snapshot.config.roster);
    let of_conversation = match agent {
        Some(agent) => Some(agent.to_owned()),
        None => store.conversation(&placed.conversation).await?.map(|found| found.agent),
    };
    let Some(name) = of_conversation.filter(|name| roster.find(name).is_none()) else { return Ok(()) };
    let began = store.conversation(&placed.conversation).await?;
    let had_company = began.is_some_and(|began| began.one_of_several)
        || !store.hand_overs(&placed.conversation).await?.is_empty();
    if had_company { Err(gone(&placed.conversation, name, roster)) } else { Ok(()) }
}

/// Whether there is more than one agent now.
pub(crate) fn has_company(shared: &Shared) -> bool {
    shared.workspace.snapshot().config.roster.has_company()
}

/// The workspace as `agent` sees it; as the first one does if none is named or there is but one.
pub(crate) fn snapshot(shared: &Shared, agent: Option<&str>) -> Result<Arc<Snapshot>, AgentError> {
    let snapshot = shared.workspace.snapshot();
    if snapshot.config.roster.has_company() { Ok(snapshot.of_agent(agent)?) } else { Ok(snapshot) }
}

fn gone(conversation: &ConversationId, agent: String, roster: &Roster) -> AgentError {
    AgentError::AgentGone { conversation: conversation.clone(), agent, known: roster.names() }
}

/// How long the provider is asked to keep what the conversations of `agent` share.
pub(crate) fn cache_ttl(shared: &Shared, agent: &str) -> CacheTtl {
    let snapshot = shared.workspace.snapshot();
    let own = snapshot.of_agent(Some(agent));
    own.as_ref().unwrap_or(&snapshot).config.cache_ttl
}

/// Refuses a message for an agent that is not there, or that has not this conversation: another one would answer it; and one
/// in a conversation that is none of an agent's.
pub(crate) async fn check(shared: &Shared, inbound: &Inbound) -> Result<(), AgentError> {
    if is_passed_through(&inbound.conversation) {
        return Err(AgentError::PassedThrough(inbound.conversation.clone()));
    }
    let snapshot = shared.workspace.snapshot();
    let roster = &snapshot.config.roster;
    let Some(name) = inbound.occasion.agent.as_deref().filter(|_| roster.has_company()) else {
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
