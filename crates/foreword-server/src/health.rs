//! Whether the server is there, and whether it can do its work.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use foreword_core::api_token::Scope;
use foreword_observe::metrics::text::Page;
use foreword_store::error::StoreError;
use foreword_store::health::Fault;
use http::header;
use serde::Serialize;
use tokio::sync::Mutex;
use tokio::time::Instant;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::{App, Stage};
use crate::auth::Caller;
use crate::problem::Problem;
use crate::standing_problems;

/// How long the store may take to answer.
const STORE: Duration = Duration::from_secs(1);
/// For how long the result of a write is taken for the next.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

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
    /// `ok`, or `degraded` if something is wrong that the server can work with.
    #[schema(example = "ok")]
    status: &'static str,
    /// What that is, by code; details are in the owner's status.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    problems: Vec<String>,
}

impl Health {
    fn with(problems: Vec<String>) -> Json<Self> {
        Json(Self { status: if problems.is_empty() { "ok" } else { "degraded" }, problems })
    }
}

/// Whether the process is there.
#[utoipa::path(get, path = "/healthz", tag = "operations", security(()), responses((status = 200, body = Health)))]
async fn healthz() -> Json<Health> {
    Health::with(Vec::new())
}

/// Whether messages can be accepted: what others left is taken up, nobody has said stop, the workspace is there, the store can
/// be written, and what happens can be recorded. A configuration that is missing or refused is named: the last good one is in
/// force.
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
    app.workspace.check_available()?;
    in_time(app.store.newest_event_id()).await?;
    app.write_probe.check(&app).await?;
    let problems = standing_problems::all(&app).into_iter();
    Ok(Health::with(problems.map(|problem| problem.code).collect()))
}

/// The last attempt to write to the store. Requests within a second share one: the route needs no token.
#[derive(Debug, Default)]
pub(crate) struct WriteProbe(Mutex<Option<Probed>>);

#[derive(Debug)]
struct Probed {
    at: Instant,
    result: Result<(), Problem>,
}

impl WriteProbe {
    async fn check(&self, app: &App) -> Result<(), Problem> {
        let mut last = self.0.lock().await;
        if let Some(probed) = last.as_ref().filter(|probed| probed.at.elapsed() < PROBE_INTERVAL) {
            return probed.result.clone();
        }
        let result = probe(app).await;
        *last = Some(Probed { at: Instant::now(), result: result.clone() });
        result
    }
}

/// What the store gives, if it does so soon enough.
async fn in_time<T>(asked: impl Future<Output = Result<T, StoreError>>) -> Result<T, Problem> {
    match tokio::time::timeout(STORE, asked).await {
        Ok(answered) => Ok(answered?),
        Err(_) => Err(Problem::unavailable("store_slow", "the store does not answer in time").retry_after(1)),
    }
}

async fn probe(app: &App) -> Result<(), Problem> {
    in_time(app.store.probe(&app.node, app.now())).await?;
    // A damaged file takes writes elsewhere.
    match app.store.health().failures().into_iter().find(|failure| failure.fault != Fault::Damaged) {
        Some(failure) => Err(failure.error.into()),
        None => Ok(()),
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
