//! The protocol over HTTP. Without sessions: every request brings its token, so one that is revoked opens nothing a moment
//! later, and any node answers any request. Whether a page may ask was decided before, as for every route.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use foreword_agent::visiting::Visitor;
use http::StatusCode;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tower::ServiceExt as _;

use super::handler::Handler;
use crate::app::App;
use crate::auth::limits::largest_body;
use crate::auth::{Asserted, Caller};
use crate::problem::Problem;

pub(super) async fn answer(
    State(app): State<App>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    let config = app.config();
    let occasion = caller.occasion(&Asserted::of(request.headers())?, &config)?;
    let visitor = Visitor { occasion, scopes: caller.scopes().clone() };
    let agent = app.agent.clone();
    let settings = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        // Nobody without a token gets here, under whatever name they call this machine.
        .disable_allowed_hosts()
        .with_max_request_body_bytes(largest_body(caller.api_token(), &config.server.limits));
    let handler = move || Ok(Handler { agent: agent.clone(), visitor: visitor.clone() });
    let service = StreamableHttpService::new(handler, Arc::new(NeverSessionManager::default()), settings);
    let answered = service.oneshot(request).await;
    match answered {
        Ok(response) => refusal(response.status()).map_or_else(|| Ok(response.map(Body::new)), Err),
        Err(never) => match never {},
    }
}

/// What the protocol's implementation refuses in plain text, in the form of every other refusal.
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
