//! A callable MCP tool. Every answer of the server is text from outside; every failure is an answer for the model.

use std::sync::Arc;
use std::time::Duration;

use foreword_core::event::EventType;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::ServiceError;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::answer;
use super::state::ServerState;
use super::supervisor::Server;
use crate::tool::{Tool, ToolCall, ToolFuture, ToolOutput};
use crate::tools::limits::event_of;

pub(super) struct McpTool {
    server: Arc<Server>,
    /// Its name for the model.
    name: String,
    /// Its name at the server.
    offered_as: String,
}

impl McpTool {
    pub(super) fn new(server: Arc<Server>, name: String, offered_as: String) -> Self {
        Self { server, name, offered_as }
    }
}

impl Tool for McpTool {
    fn name(&self) -> &str {
        &self.name
    }

    /// A server's own statements about side effects are not trusted.
    fn has_side_effects(&self) -> bool {
        true
    }

    fn run(&self, arguments: Map<String, Value>, call: ToolCall) -> ToolFuture {
        let (server, name) = (Arc::clone(&self.server), self.name.clone());
        let request = CallToolRequestParams::new(self.offered_as.clone()).with_arguments(arguments);
        Box::pin(async move {
            let Some(peer) = server.peer() else { return unavailable(&server) };
            let _guard = server.call_guard();
            // The SDK cancels a call that is dropped before its answer.
            match timeout(server.config.timeout, peer.call_tool_once(request)).await {
                Ok(Ok(CallToolResponse::Complete(result))) => {
                    answer::tool_output(&server.name, &name, result, &call)
                }
                Ok(Ok(_)) => ToolOutput::failed(format!(
                    "the server `{}` wants to ask something back, or to answer later, and neither is possible here: call it with all it needs, or do it another way",
                    server.name
                )),
                Ok(Err(error)) => broken(&server, &error),
                Err(_) => too_slow(&server, &name, &call),
            }
        })
    }
}

/// The output for an unavailable server. It does not include the server's own error text, which is for people.
fn unavailable(server: &Server) -> ToolOutput {
    let again = match &*server.state.borrow() {
        ServerState::Failing { .. } => {
            "it is being started again: try once more in a few seconds, or continue without it"
        }
        ServerState::Starting => "it is being started: try again in a few seconds",
        ServerState::Ready => "the connection to it has just been lost: try again in a few seconds",
        ServerState::Stopped => "it is not used any more: continue without it",
    };
    ToolOutput::failed(format!("not run: the server `{}` can't be reached now; {again}", server.name))
}

fn broken(server: &Server, error: &ServiceError) -> ToolOutput {
    match error {
        ServiceError::McpError(said) => answer::refused(&server.name, &said.message),
        ServiceError::UnexpectedResponse => ToolOutput::failed(format!(
            "the server `{}` answered with something that is not a result: do it another way",
            server.name
        )),
        _ => {
            server.request_health_check();
            ToolOutput::failed(format!(
                "the connection to the server `{}` was lost during the call, which may have taken effect. Check before you retry in a few seconds",
                server.name
            ))
        }
    }
}

fn too_slow(server: &Server, name: &str, call: &ToolCall) -> ToolOutput {
    server.request_health_check();
    let limit: Duration = server.config.timeout;
    let milliseconds = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    let text = format!(
        "timeout: the server `{}` took longer than {} seconds; the call may have taken effect. Request less per call",
        server.name,
        limit.as_secs_f64()
    );
    let metadata = json!({ "tool": name, "timeoutMs": milliseconds });
    ToolOutput::failed(text).with_event(event_of(EventType::ToolTimeout, call, metadata))
}
