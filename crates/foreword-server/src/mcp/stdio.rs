//! The protocol on standard input and output, for a client that starts this program. Nothing else may be written there.

use foreword_agent::agent::Agent;
use foreword_agent::visiting::Visitor;
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use rmcp::transport::io::stdio;

use super::handler::Handler;
use crate::error::ServerError;

/// Answers whoever is at standard input until they have said enough.
///
/// # Errors
/// If they speak another protocol.
pub async fn serve_stdio(agent: Agent, visitor: Visitor) -> Result<(), ServerError> {
    let serving = Box::pin(Handler { agent, visitor }.serve(stdio())).await;
    match serving {
        Ok(serving) => {
            // However it ends, it has ended.
            let _ = serving.waiting().await;
            Ok(())
        }
        // Somebody who says nothing at all wants nothing.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(ServerError::Protocol { reason: error.to_string() }),
    }
}
