//! Runs what a visitor calls. The agent's own tools are run as in a turn, though there is none: in a conversation that no one
//! else has, or in one that the visitor began and asks about.

use foreword_core::id::{CallId, ConversationId, TurnId};
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use serde_json::{Map, Value};

use super::offered::{Offered, Runs};
use super::{Known, cache, memory_index, prompt};
use crate::agent::Agent;
use crate::error::AgentError;
use crate::inbound::provenance;
use crate::shared::Shared;
use crate::tool::{ToolCall, ToolOutput};

pub(super) async fn call(
    agent: &Agent,
    known: &Known,
    wanted: &Offered,
    arguments: Map<String, Value>,
) -> ToolOutput {
    let shared = agent.shared();
    let done = match wanted.runs {
        Runs::AgentsOwn => agents_own(shared, known, &wanted.tool.spec.name, arguments).await,
        Runs::MemoryIndex => memory_index::run(shared, known).await,
        Runs::PromptBuild => prompt::build(shared, known, &arguments).await,
        Runs::PromptExplain => prompt::explain(shared, known, &arguments).await,
        Runs::Cache => cache::run(shared, known, &arguments).await,
    };
    done.unwrap_or_else(|error| ToolOutput::failed(error.shown_at(known.trust)))
}

async fn agents_own(
    shared: &Shared,
    known: &Known,
    name: &str,
    arguments: Map<String, Value>,
) -> Result<ToolOutput, AgentError> {
    let Some(tool) = shared.tool_at_hand(name).await else {
        return Ok(ToolOutput::failed(format!("`{name}` is not at hand here: use another tool")));
    };
    let own = own_conversation(shared, known, &arguments).await?;
    let call = tool_call(shared, known, own)?;
    Ok(tool.run(arguments, call).await)
}

/// The call of a visitor. They are models as a rule, and nobody knows what they have read: what they write is kept as words
/// from outside.
pub(super) fn tool_call(
    shared: &Shared,
    known: &Known,
    conversation: Option<ConversationId>,
) -> Result<ToolCall, AgentError> {
    let surroundings = &shared.surroundings;
    let user = known.user.as_deref().and_then(|name| known.snapshot.config.user(name));
    Ok(ToolCall {
        id: surroundings.id::<CallId>("visit")?,
        conversation: conversation.map_or_else(|| surroundings.id("visit"), Ok)?,
        turn: surroundings.id::<TurnId>("visit")?,
        trust: known.trust,
        user: known.user.clone(),
        agent: known.agent.clone(),
        tainted: true,
        confirmed: false,
        provenance: provenance(user),
        occasion: known.occasion.clone(),
        host: shared.host.clone(),
        snapshot: known.snapshot.clone(),
        workspace: shared.workspace.clone(),
        store: shared.store.clone(),
        now: shared.now(),
        random: surroundings.random(),
    })
}

/// The conversation that is asked about, if this visitor began it. The owner sees all without being in any.
async fn own_conversation(
    shared: &Shared,
    known: &Known,
    arguments: &Map<String, Value>,
) -> Result<Option<ConversationId>, AgentError> {
    if known.trust.permits(Trust::Full) {
        return Ok(None);
    }
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::trim);
    let asked = match (text("session_id"), text("turn")) {
        (Some(id), _) => ConversationId::new(id).ok(),
        (None, Some(turn)) => match TurnId::new(turn) {
            Ok(turn) => conversation_of(shared, &turn).await?,
            Err(_) => None,
        },
        (None, None) => None,
    };
    match asked {
        Some(id) => began(shared, known, id).await,
        None => Ok(None),
    }
}

async fn conversation_of(shared: &Shared, turn: &TurnId) -> Result<Option<ConversationId>, AgentError> {
    match shared.store.turn(turn).await {
        Ok(turn) => Ok(Some(turn.conversation)),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The conversation, if the visitor began it.
pub(super) async fn began(
    shared: &Shared,
    known: &Known,
    id: ConversationId,
) -> Result<Option<ConversationId>, AgentError> {
    let Some(found) = shared.store.conversation(&id).await? else { return Ok(None) };
    let own = known.user.is_some() && found.user.as_deref() == known.user.as_deref();
    Ok(own.then_some(id))
}
