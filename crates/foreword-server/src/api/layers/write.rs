//! Writing a layer: a new text, or an earlier one again. The rules are the store's.

use axum::Json;
use axum::extract::State;
use foreword_agent::stored_changes::layer_changed;
use foreword_core::api_token::Scope;
use foreword_store::layers::{LayerWrite, Updated, Writer};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::body::{LayerBody, VersionBody};
use super::{AgentQuery, Desk};
use crate::api::etag::{Read, changed_meanwhile, has_read};
use crate::api::extract::{self, Path, Query};
use crate::api::refusals::{Clashes, NotThere, Refusals};
use crate::api::template::line;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(set)).routes(routes!(rollback))
}

/// A new text for a layer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewLayerText {
    /// The text.
    content: String,
    /// Why; a line.
    #[schema(max_length = 500)]
    message: Option<String>,
    /// The version it replaces: another one is a conflict. 0 is "nothing is stored yet".
    expected_version: Option<u64>,
}

/// The way back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Rollback {
    /// The version whose text is wanted again.
    to: u64,
    /// Why; a line.
    #[schema(max_length = 500)]
    message: Option<String>,
    /// The version it replaces: another one is a conflict.
    expected_version: Option<u64>,
}

/// A layer that was written.
#[derive(Debug, Serialize, ToSchema)]
struct Written {
    /// The version in force now.
    #[serde(flatten)]
    version: VersionBody,
    /// Whether it is new: the same text again is the version there was.
    stored: bool,
    /// What all layers together may still grow by, if that is limited.
    remaining: Option<usize>,
    /// Phrases in it that are worth a second look.
    labels: Vec<String>,
}

/// Gives a layer another text, as its next version. For the owner, with `admin`. Conversations use it from their next epoch on.
#[utoipa::path(put, path = "/api/v1/layers/{id}", tag = "layers", request_body = NewLayerText,
    params(("id" = String, Path, description = "The layer's id."), AgentQuery,
        ("If-Match" = Option<String>, Header, description = "The ETag of what it replaces.")),
    responses((status = 200, body = Written),
        (status = 412, body = Problem, content_type = "application/problem+json"), Refusals, NotThere, Clashes))]
async fn set(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    asked: (Query<AgentQuery>, HeaderMap),
    extract::Json(new): extract::Json<NewLayerText>,
) -> Result<Json<Written>, Problem> {
    let (Query(query), headers) = asked;
    let pen = Pen::of(&app, &caller, query.agent.as_deref(), &id).await?;
    let by = pen.written(new.message.as_deref(), new.expected_version, &headers)?;
    let updated = app.store.update_layer(&pen.desk.blueprint, &id, &new.content, by).await;
    pen.told(updated.map_err(Problem::from), &headers)
}

/// Gives a layer the text of an earlier version again, as its next version. For the owner, with `admin`.
#[utoipa::path(post, path = "/api/v1/layers/{id}/rollback", tag = "layers", request_body = Rollback,
    params(("id" = String, Path, description = "The layer's id."), AgentQuery,
        ("If-Match" = Option<String>, Header, description = "The ETag of what it replaces.")),
    responses((status = 200, body = Written),
        (status = 412, body = Problem, content_type = "application/problem+json"), Refusals, NotThere, Clashes))]
async fn rollback(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    asked: (Query<AgentQuery>, HeaderMap),
    extract::Json(wish): extract::Json<Rollback>,
) -> Result<Json<Written>, Problem> {
    let (Query(query), headers) = asked;
    let pen = Pen::of(&app, &caller, query.agent.as_deref(), &id).await?;
    if i64::try_from(wish.to).is_err() {
        return Err(Problem::not_found("layer version", &wish.to.to_string()));
    }
    let by = pen.written(wish.message.as_deref(), wish.expected_version, &headers)?;
    let updated = app.store.rollback_layer(&pen.desk.blueprint, &id, wish.to, by).await;
    pen.told(updated.map_err(Problem::from), &headers)
}

/// The owner, about to write a layer.
struct Pen<'a> {
    app: &'a App,
    caller: &'a Caller,
    desk: Desk,
    before: LayerBody,
}

impl<'a> Pen<'a> {
    async fn of(app: &'a App, caller: &'a Caller, agent: Option<&str>, id: &str) -> Result<Self, Problem> {
        caller.needs_owner(Scope::Admin, &app.config())?;
        let desk = Desk::of(app, caller, agent)?;
        let before = desk.body(app, id).await?;
        Ok(Self { app, caller, desk, before })
    }

    fn written(
        &self,
        message: Option<&str>,
        expected: Option<u64>,
        headers: &HeaderMap,
    ) -> Result<LayerWrite, Problem> {
        let expected = match has_read(headers, &self.before)? {
            Read::This => Some(self.before.layer.version.unwrap_or(0)),
            Read::Unsaid => expected,
        };
        let message = message.map(|words| line("message", words)).transpose()?;
        let writer = Writer::Owner(self.caller.user().to_owned());
        Ok(LayerWrite { message, expected, ..LayerWrite::new(writer, self.app.now()) })
    }

    fn told(&self, updated: Result<Updated, Problem>, headers: &HeaderMap) -> Result<Json<Written>, Problem> {
        let by_header = headers.contains_key(http::header::IF_MATCH);
        let Updated { version, accepted } = updated.map_err(|problem| match problem.code() {
            "version_conflict" if by_header => changed_meanwhile(problem.detail()),
            _ => problem,
        })?;
        let stored = self.before.content.as_deref() != Some(version.text.as_str());
        if stored {
            self.app.recorder.record(layer_changed(&self.desk.blueprint.name, &version));
        }
        Ok(Json(Written {
            version: version.into(),
            stored,
            remaining: accepted.remaining,
            labels: accepted.labels.into_iter().map(|label| label.phrase).collect(),
        }))
    }
}
