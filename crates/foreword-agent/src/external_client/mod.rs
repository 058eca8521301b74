//! External clients, such as MCP clients: programs that call the agent's tools without a conversation, on behalf of a
//! user. They get the agent's own tools, at that user's trust, and a few tools for clients only. A tool that a client
//! may not use does not exist for it. Independent of the protocol.

mod cache;
mod call;
mod memory_index;
mod offered;
mod prompt;

use std::collections::BTreeSet;
use std::sync::Arc;

use foreword_core::api_token::Scope;
use foreword_core::event::{Event, EventType, Level};
use foreword_core::tools::check_arguments;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::{Marker, Origin, Untrusted, display_line, frame, single_line};
use foreword_workspace::snapshot::Snapshot;
use serde_json::{Value, json};

pub use offered::ClientTool;

use crate::agent::Agent;
use crate::conversation::agent_routing;
use crate::conversation::inbound::TurnOrigin;
use crate::error::AgentError;
use crate::shared::Shared;
use crate::tool::ToolOutput;
use offered::Offered;
use tokio::time::Instant;

/// Maximum length of an error in the log.
const MAX_ERROR_CHARS: usize = 300;

/// A program that calls the agent's tools on behalf of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalClient {
    /// The user and channel.
    pub occasion: TurnOrigin,
    /// The granted scopes: `chat` permits memory and prompts, `observe` permits logs, traces and costs.
    pub scopes: BTreeSet<Scope>,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientToolResult {
    /// The text; untrusted text is framed.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
}

/// A client with its resolved user, trust and agent.
struct ResolvedClient {
    trust: Trust,
    user: Option<Arc<str>>,
    agent: Arc<str>,
    channel: Option<Arc<str>>,
    occasion: TurnOrigin,
    snapshot: Arc<Snapshot>,
}

impl Agent {
    /// The tools that `client` may use, by name.
    ///
    /// # Errors
    /// If the client names an agent that does not exist.
    pub fn client_tools(&self, client: &ExternalClient) -> Result<Vec<ClientTool>, AgentError> {
        let resolved = resolve(self.shared(), client)?;
        let offered = offered::to(&resolved, &client.scopes);
        Ok(offered.into_iter().map(|offered| offered.tool).collect())
    }

    /// Runs a tool for `client`. A tool that the client may not use is reported as not existing. Error texts say what
    /// to do.
    pub async fn call_for_client(
        &self,
        client: &ExternalClient,
        tool: &str,
        arguments: &Value,
    ) -> ClientToolResult {
        let shared = self.shared();
        let resolved = match resolve(shared, client) {
            Ok(resolved) => resolved,
            Err(error) => return refused(error.to_string()),
        };
        let offered = offered::to(&resolved, &client.scopes);
        let Some(wanted) = offered.iter().find(|offered| offered.tool.spec.name == tool) else {
            return refused(no_such_tool(tool, &offered));
        };
        let arguments = match check_arguments(&wanted.tool.spec, arguments) {
            Ok(arguments) => arguments,
            Err(bad) => return refused(bad.to_string()),
        };
        let since = Instant::now();
        let output = Box::pin(call::call(self, &resolved, wanted, arguments)).await;
        log(shared, &resolved, tool, &output, since);
        to_result(tool, output, shared.clock_and_rng.random())
    }
}

fn resolve(shared: &Shared, client: &ExternalClient) -> Result<ResolvedClient, AgentError> {
    let snapshot = agent_routing::snapshot(shared, client.occasion.speaker.agent.as_deref())?;
    let found = client.occasion.principal(shared);
    let (trust, user) = (found.trust.effective(), found.occasion.user);
    let channel = found.occasion.channel.map(|channel| channel.as_str().into());
    let (agent, occasion) = (found.occasion.agent, client.occasion.clone());
    Ok(ResolvedClient { trust, user, agent, channel, occasion, snapshot })
}

fn no_such_tool(name: &str, offered: &[Offered]) -> String {
    let names: Vec<&str> = offered.iter().map(|offered| offered.tool.spec.name.as_str()).collect();
    let way_out = match did_you_mean(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => "no tools are available to you".to_owned(),
        None => format!("there are {}", names.join(", ")),
    };
    format!("there is no tool `{}`: {way_out}", single_line(name, 80))
}

fn refused(text: String) -> ClientToolResult {
    ClientToolResult { text, is_error: true }
}

/// The result as the client reads it. Most clients are models, so untrusted text is framed with an unpredictable
/// marker.
fn to_result(tool: &str, output: ToolOutput, random: u128) -> ClientToolResult {
    let ToolOutput { text, is_error, from_outside, .. } = output;
    let text = if from_outside {
        let marker = Marker::from_random_bytes(random.to_be_bytes());
        frame(&[Untrusted::new(Origin::tool(tool), text)], &marker).as_str().to_owned()
    } else {
        text
    };
    ClientToolResult { text, is_error }
}

/// Logs the call and the tool's own events, without a conversation or turn.
fn log(shared: &Shared, client: &ResolvedClient, tool: &str, output: &ToolOutput, since: Instant) {
    let about = |event: Event| Event {
        session_id: None,
        turn_id: None,
        agent_id: Some(Arc::clone(&client.agent)),
        user_id: client.user.clone(),
        channel: client.channel.clone(),
        ..event
    };
    let metadata = json!({ "tool": tool, "isError": output.is_error, "visitor": true });
    let millis = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
    let call = Event::new(EventType::ToolCall, shared.now());
    shared.log(about(Event { duration_ms: Some(millis), metadata: Some(metadata.clone()), ..call }));
    if output.is_error {
        let first_line = output.text.lines().next().unwrap_or_default();
        let error = Some(display_line(first_line, MAX_ERROR_CHARS));
        let failed = Event::new(EventType::ToolError, shared.now());
        shared.log(about(Event { level: Level::Warn, error, metadata: Some(metadata), ..failed }));
    }
    output.events.iter().for_each(|event| shared.log(about(event.clone())));
}
