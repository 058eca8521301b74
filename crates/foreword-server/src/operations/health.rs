//! Liveness, readiness and metrics.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use foreword_core::api_token::Scope;
use foreword_observe::metrics::text::Page;
use foreword_store::error::StoreError;
use foreword_store::health::StoreFault;
use http::header;
use serde::Serialize;
use tokio::sync::Mutex;
use tokio::time::Instant;
use utoipa::ToSchema;

use crate::app::{App, Stage};
use crate::auth::Caller;
use crate::operations::server_problems;
use crate::problem::Problem;

/// The timeout of a store operation.
const STORE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the result of a write probe is reused.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Whether a path is a health check.
pub(crate) fn is_health_path(path: &str) -> bool {
    path == "/healthz" || path == "/readyz"
}

pub(crate) fn stopping() -> Problem {
    Problem::unavailable("stopping", "the server is stopping")
}

/// The health of the server.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`, or `degraded` if there are problems that the server can work with.
    #[schema(example = "ok")]
    status: &'static str,
    /// The codes of these problems. The owner's status has the details.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    problems: Vec<String>,
}

impl Health {
    fn with(problems: Vec<String>) -> Json<Self> {
        Json(Self { status: if problems.is_empty() { "ok" } else { "degraded" }, problems })
    }
}

/// Liveness: the process runs.
#[utoipa::path(get, path = "/healthz", tag = "operations", security(()), responses((status = 200, body = Health)))]
pub(crate) async fn get_healthz() -> Json<Health> {
    Health::with(Vec::new())
}

/// Readiness: interrupted work is resumed, the server is not stopping, the workspace is readable, the store is
/// writable, and events can be recorded. A missing or invalid configuration is listed as a problem; the last valid one
/// stays in use.
#[utoipa::path(get, path = "/readyz", tag = "operations", security(()),
    responses((status = 200, body = Health), (status = 503, body = Problem)))]
pub(crate) async fn get_readyz(State(app): State<App>) -> Result<Json<Health>, Problem> {
    match app.stage() {
        Stage::Starting => {
            return Err(Problem::unavailable("starting", "interrupted work is being resumed").retry_after(1));
        }
        Stage::Ready => {}
        Stage::Stopping => return Err(stopping()),
    }
    if app.events.is_nearly_full() {
        let detail = "the event queue is full";
        return Err(Problem::unavailable("events_full", detail).retry_after(1));
    }
    app.workspace.check_available()?;
    with_timeout(app.store.newest_event_id()).await?;
    app.write_probe.check(&app).await?;
    let problems = server_problems::all(&app).into_iter();
    Ok(Health::with(problems.map(|problem| problem.code).collect()))
}

/// The last write probe of the store. Requests within a second share its result, since the route needs no token.
#[derive(Debug, Default)]
pub(crate) struct WriteProbe(Mutex<Option<ProbeResult>>);

#[derive(Debug)]
struct ProbeResult {
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
        *last = Some(ProbeResult { at: Instant::now(), result: result.clone() });
        result
    }
}

/// Runs a store operation with a timeout.
async fn with_timeout<T>(operation: impl Future<Output = Result<T, StoreError>>) -> Result<T, Problem> {
    match tokio::time::timeout(STORE_TIMEOUT, operation).await {
        Ok(answered) => Ok(answered?),
        Err(_) => Err(Problem::unavailable("store_slow", "the store did not answer in time").retry_after(1)),
    }
}

async fn probe(app: &App) -> Result<(), Problem> {
    with_timeout(app.store.probe(&app.node, app.now())).await?;
    // A damaged SQLite file still accepts writes elsewhere.
    match app.store.health().failures().into_iter().find(|failure| failure.fault != StoreFault::Damaged) {
        Some(failure) => Err(failure.error.into()),
        None => Ok(()),
    }
}

/// Metrics of all users in the Prometheus text format. Owner only, with `observe`.
#[utoipa::path(get, path = "/metrics", tag = "operations", responses((status = 200, body = String, content_type = "text/plain")))]
pub(crate) async fn get_metrics(State(app): State<App>, caller: Caller) -> Result<Response, Problem> {
    caller.require_owner(Scope::Observe, &app.config())?;
    let mut page = Page::default();
    app.traffic.write(&mut page);
    app.overhead.write(&mut page);
    let text = app.metrics.render() + &page.finish();
    let content_type = [(header::CONTENT_TYPE, foreword_observe::metrics::CONTENT_TYPE)];
    Ok((content_type, text).into_response())
}
