//! MCP over HTTP, without sessions: every request is authenticated, so a revoked token takes effect at once, and any
//! node can answer. The origin is checked by the middleware.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use foreword_agent::external_client::ExternalClient;
use http::StatusCode;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tower::ServiceExt as _;

use super::handler::Handler;
use crate::app::App;
use crate::auth::limits::max_body_bytes;
use crate::auth::{Asserted, Caller};
use crate::problem::Problem;

pub(crate) async fn handle(
    State(app): State<App>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    let config = app.config();
    let occasion = caller.occasion(&Asserted::of(request.headers())?, &config)?;
    let client = ExternalClient { occasion, scopes: caller.scopes().clone() };
    let agent = app.agent.clone();
    let settings = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        // All requests are authenticated, so the `Host` header does not matter.
        .disable_allowed_hosts()
        .with_max_request_body_bytes(max_body_bytes(caller.api_token(), &config.server.limits));
    let handler = move || Ok(Handler { agent: agent.clone(), client: client.clone() });
    let service = StreamableHttpService::new(handler, Arc::new(NeverSessionManager::default()), settings);
    let answered = service.oneshot(request).await;
    match answered {
        Ok(response) => refusal(response.status()).map_or_else(|| Ok(response.map(Body::new)), Err),
        Err(never) => match never {},
    }
}

/// Errors of the MCP library in plain text, as a problem.
fn refusal(status: StatusCode) -> Option<Problem> {
    match status {
        StatusCode::NOT_ACCEPTABLE => {
            let detail = "`Accept` must have both `application/json` and `text/event-stream`";
            Some(Problem::new(status, "not_acceptable", detail))
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            Some(Problem::new(status, "unsupported_media_type", "`Content-Type` must be `application/json`"))
        }
        _ => None,
    }
}
