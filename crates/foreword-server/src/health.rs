//! Whether the server is there, and whether it can do its work.

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

use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// What needs no token.
pub(crate) fn open_routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz))
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

/// Whether messages can be accepted: the store answers, and nobody has said stop.
#[utoipa::path(get, path = "/readyz", tag = "operations", security(()),
    responses((status = 200, body = Health), (status = 503, body = Problem)))]
async fn readyz(State(app): State<App>) -> Result<Json<Health>, Problem> {
    if app.is_stopping() {
        return Err(Problem::unavailable("stopping", "the server is being stopped"));
    }
    app.store.newest_event_id().await?;
    Ok(Json(Health { status: "ok" }))
}

/// What is counted, as Prometheus reads it.
#[utoipa::path(get, path = "/metrics", tag = "operations", responses((status = 200, body = String, content_type = "text/plain")))]
async fn metrics(State(app): State<App>, caller: Caller) -> Result<Response, Problem> {
    caller.needs(Scope::Observe)?;
    let mut page = Page::default();
    app.traffic.write(&mut page);
    app.overhead.write(&mut page);
    let text = app.metrics.render() + &page.finish();
    let content_type = [(header::CONTENT_TYPE, foreword_observe::metrics::CONTENT_TYPE)];
    Ok((content_type, text).into_response())
}
