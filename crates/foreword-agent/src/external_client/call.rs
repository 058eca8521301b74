//! Runs the tool calls of clients. The agent's tools run without a turn, with a new conversation id, or with the id of
//! the client user's conversation that the call names.

use foreword_core::id::{CallId, ConversationId, TurnId};
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use serde_json::{Map, Value};

use super::offered::{Handler, Offered};
use super::{ResolvedClient, cache, memory_index, prompt};
use crate::agent::Agent;
use crate::conversation::inbound::provenance;
use crate::error::AgentError;
use crate::shared::Shared;
use crate::tool::{ToolCall, ToolOutput};

pub(super) async fn call(
    agent: &Agent,
    client: &ResolvedClient,
    wanted: &Offered,
    arguments: Map<String, Value>,
) -> ToolOutput {
    let shared = agent.shared();
    let done = match wanted.runs {
        Handler::AgentTool => run_agent_tool(shared, client, &wanted.tool.spec.name, arguments).await,
        Handler::MemoryIndex => memory_index::run(shared, client).await,
        Handler::PromptBuild => prompt::build(shared, client, &arguments).await,
        Handler::PromptExplain => prompt::explain(shared, client, &arguments).await,
        Handler::Cache => cache::run(shared, client, &arguments).await,
    };
    done.unwrap_or_else(|error| ToolOutput::failed(error.visible_at(client.trust)))
}

async fn run_agent_tool(
    shared: &Shared,
    client: &ResolvedClient,
    name: &str,
    arguments: Map<String, Value>,
) -> Result<ToolOutput, AgentError> {
    let Some(tool) = shared.find_tool(name).await else {
        return Ok(ToolOutput::failed(format!("`{name}` is not available: use another tool")));
    };
    let own = own_conversation(shared, client, &arguments).await?;
    let call = tool_call(shared, client, own)?;
    Ok(tool.run(arguments, call).await)
}

/// A tool call of a client. Always tainted: most clients are models that may have read untrusted text.
pub(super) fn tool_call(
    shared: &Shared,
    client: &ResolvedClient,
    conversation: Option<ConversationId>,
) -> Result<ToolCall, AgentError> {
    let clock_and_rng = &shared.clock_and_rng;
    Ok(ToolCall {
        id: clock_and_rng.id::<CallId>("visit")?,
        conversation: conversation.map_or_else(|| clock_and_rng.id("visit"), Ok)?,
        turn: clock_and_rng.id::<TurnId>("visit")?,
        trust: client.trust,
        user: client.user.clone(),
        agent: client.agent.clone(),
        tainted: true,
        confirmed: false,
        provenance: provenance(&client.occasion.principal(shared)),
        origin: client.occasion.clone(),
        host: shared.host.clone(),
        snapshot: client.snapshot.clone(),
        workspace: shared.workspace.clone(),
        store: shared.store.clone(),
        now: shared.now(),
        random: clock_and_rng.random(),
    })
}

/// The conversation that the arguments name, if it belongs to the client's user. `None` for the owner, who sees all.
async fn own_conversation(
    shared: &Shared,
    client: &ResolvedClient,
    arguments: &Map<String, Value>,
) -> Result<Option<ConversationId>, AgentError> {
    if client.trust.permits(Trust::Full) {
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
        Some(id) => began(shared, client, id).await,
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

/// The conversation, if it belongs to the client's user.
pub(super) async fn began(
    shared: &Shared,
    client: &ResolvedClient,
    id: ConversationId,
) -> Result<Option<ConversationId>, AgentError> {
    let Some(found) = shared.store.conversation(&id).await? else { return Ok(None) };
    let own = client.user.is_some() && found.user.as_deref() == client.user.as_deref();
    Ok(own.then_some(id))
}
