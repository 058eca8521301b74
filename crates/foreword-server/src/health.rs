//! Whether the server is there, and whether it can do its work.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use foreword_core::api_token::Scope;
use foreword_observe::metrics::text::Page;
use http::header;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::{App, Stage};
use crate::auth::Caller;
use crate::problem::Problem;

/// How long the store may take to answer.
const STORE: Duration = Duration::from_secs(1);

/// What needs no token.
pub(crate) fn open_routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz))
}

/// Whether a path is one of them.
pub(crate) fn is_asked(path: &str) -> bool {
    path == "/healthz" || path == "/readyz"
}

/// What everybody is told by a server that is stopping.
pub(crate) fn stopping() -> Problem {
    Problem::unavailable("stopping", "the server is being stopped")
}

/// What needs one.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(metrics))
}

/// That something is so.
#[derive(Debug, Serialize, ToSchema)]
struct Health {
    /// `ok`.
    status: &'static str,
}

/// Whether the process is there.
#[utoipa::path(get, path = "/healthz", tag = "operations", security(()), responses((status = 200, body = Health)))]
async fn healthz() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Whether messages can be accepted: what others left is taken up, nobody has said stop, the store answers, and what happens
/// can be written down.
#[utoipa::path(get, path = "/readyz", tag = "operations", security(()),
    responses((status = 200, body = Health), (status = 503, body = Problem)))]
async fn readyz(State(app): State<App>) -> Result<Json<Health>, Problem> {
    match app.stage() {
        Stage::Starting => {
            return Err(
                Problem::unavailable("starting", "what was left unfinished is being taken up").retry_after(1)
            );
        }
        Stage::Ready => {}
        Stage::Stopping => return Err(stopping()),
    }
    if app.events.is_nearly_full() {
        let detail = "more happens than can be written down: the queue of events is full";
        return Err(Problem::unavailable("events_full", detail).retry_after(1));
    }
    match tokio::time::timeout(STORE, app.store.newest_event_id()).await {
        Ok(answered) => answered.map(|_| Json(Health { status: "ok" })).map_err(Problem::from),
        Err(_) => Err(Problem::unavailable("store_slow", "the store does not answer in time").retry_after(1)),
    }
}

/// What is counted, of everybody together, as Prometheus reads it. For the owner, with `observe`.
#[utoipa::path(get, path = "/metrics", tag = "operations", responses((status = 200, body = String, content_type = "text/plain")))]
async fn metrics(State(app): State<App>, caller: Caller) -> Result<Response, Problem> {
    caller.needs_owner(Scope::Observe, &app.config())?;
    let mut page = Page::default();
    app.traffic.write(&mut page);
    app.overhead.write(&mut page);
    let text = app.metrics.render() + &page.finish();
    let content_type = [(header::CONTENT_TYPE, foreword_observe::metrics::CONTENT_TYPE)];
    Ok((content_type, text).into_response())
}
