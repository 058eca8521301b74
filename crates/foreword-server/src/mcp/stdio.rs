//! MCP over standard input and output, for a client that starts this program. Nothing else may be written there.

use foreword_agent::agent::Agent;
use foreword_agent::external_client::ExternalClient;
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use rmcp::transport::io::stdio;

use super::handler::Handler;
use crate::error::ServerError;

/// Serves until standard input is closed.
///
/// # Errors
/// If the client speaks another protocol.
pub async fn serve_stdio(agent: Agent, client: ExternalClient) -> Result<(), ServerError> {
    let serving = Box::pin(Handler { agent, client }.serve(stdio())).await;
    match serving {
        Ok(serving) => {
            // The reason of the end does not matter.
            let _ = serving.waiting().await;
            Ok(())
        }
        // A client that disconnects before `initialize` is not an error.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(ServerError::Protocol { reason: error.to_string() }),
    }
}
