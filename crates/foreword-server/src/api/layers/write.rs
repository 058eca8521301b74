//! Writes to layers: a new text, or a rollback. The store checks the rules.

use axum::Json;
use axum::extract::State;
use foreword_agent::prompt::stored_changes::layer_changed;
use foreword_core::api_token::Scope;
use foreword_store::layers::{LayerWrite, Updated, VersionWriter};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::{LayerBody, VersionBody};
use super::{AgentQuery, LayerAccess};
use crate::api::error_responses::{BodyErrors, CommonErrors, NotFoundError};
use crate::api::etag::{IfMatch, check_if_match, edit_conflict};
use crate::api::extract::{self, Path, Query};
use crate::api::template::line;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// A new text for a layer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewLayerText {
    /// The text.
    content: String,
    /// The reason, on one line.
    #[schema(max_length = 500)]
    message: Option<String>,
    /// The version to replace; another current version is a conflict. 0 means that none is stored.
    expected_version: Option<u64>,
}

/// A rollback.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rollback {
    /// The version to restore.
    to: u64,
    /// The reason, on one line.
    #[schema(max_length = 500)]
    message: Option<String>,
    /// The version to replace; another current version is a conflict.
    expected_version: Option<u64>,
}

/// The result of a write.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Written {
    /// The current version.
    #[serde(flatten)]
    version: VersionBody,
    /// Whether it is new: an unchanged text creates no version.
    stored: bool,
    /// The remaining length of all layers, if limited.
    remaining: Option<usize>,
    /// Suspicious phrases in the text.
    labels: Vec<String>,
}

/// Stores a new text of a layer. Owner only, with `admin`. Conversations use it from their next epoch on.
#[utoipa::path(put, path = "/api/v1/layers/{id}", tag = "layers", request_body = NewLayerText,
    params(("id" = String, Path, description = "The layer's id."), AgentQuery,
        ("If-Match" = Option<String>, Header, description = "The ETag of the version to replace.")),
    responses((status = 200, body = Written),
        (status = 412, body = Problem, content_type = "application/problem+json"), CommonErrors, NotFoundError, BodyErrors))]
pub(crate) async fn set_layer(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<AgentQuery>,
    headers: HeaderMap,
    extract::Json(new): extract::Json<NewLayerText>,
) -> Result<Json<Written>, Problem> {
    let edit = LayerEdit::of(&app, &caller, query.agent.as_deref(), &id).await?;
    let by = edit.layer_write(new.message.as_deref(), new.expected_version, &headers)?;
    let updated = app.store.update_layer(&edit.access.blueprint, &id, &new.content, by).await;
    edit.respond(updated.map_err(Problem::from), &headers)
}

/// Restores the text of an earlier version, as a new version. Owner only, with `admin`.
#[utoipa::path(post, path = "/api/v1/layers/{id}/rollback", tag = "layers", request_body = Rollback,
    params(("id" = String, Path, description = "The layer's id."), AgentQuery,
        ("If-Match" = Option<String>, Header, description = "The ETag of the version to replace.")),
    responses((status = 200, body = Written),
        (status = 412, body = Problem, content_type = "application/problem+json"), CommonErrors, NotFoundError, BodyErrors))]
pub(crate) async fn rollback_layer(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<AgentQuery>,
    headers: HeaderMap,
    extract::Json(wish): extract::Json<Rollback>,
) -> Result<Json<Written>, Problem> {
    let edit = LayerEdit::of(&app, &caller, query.agent.as_deref(), &id).await?;
    if i64::try_from(wish.to).is_err() {
        return Err(Problem::not_found("layer version", &wish.to.to_string()));
    }
    let by = edit.layer_write(wish.message.as_deref(), wish.expected_version, &headers)?;
    let updated = app.store.rollback_layer(&edit.access.blueprint, &id, wish.to, by).await;
    edit.respond(updated.map_err(Problem::from), &headers)
}

/// A write to a layer by the owner.
struct LayerEdit<'a> {
    app: &'a App,
    caller: &'a Caller,
    access: LayerAccess,
    before: LayerBody,
}

impl<'a> LayerEdit<'a> {
    async fn of(app: &'a App, caller: &'a Caller, agent: Option<&str>, id: &str) -> Result<Self, Problem> {
        caller.require_owner(Scope::Admin, &app.config())?;
        let access = LayerAccess::of(app, caller, agent)?;
        let before = access.body(app, id).await?;
        Ok(Self { app, caller, access, before })
    }

    fn layer_write(
        &self,
        message: Option<&str>,
        expected: Option<u64>,
        headers: &HeaderMap,
    ) -> Result<LayerWrite, Problem> {
        let expected = match check_if_match(headers, &self.before)? {
            IfMatch::Matches => Some(self.before.layer.version.unwrap_or(0)),
            IfMatch::Absent => expected,
        };
        let message = message.map(|words| line("message", words)).transpose()?;
        let writer = VersionWriter::Owner(self.caller.user().to_owned());
        Ok(LayerWrite { message, expected, ..LayerWrite::new(writer, self.app.now()) })
    }

    fn respond(
        &self,
        updated: Result<Updated, Problem>,
        headers: &HeaderMap,
    ) -> Result<Json<Written>, Problem> {
        let by_header = headers.contains_key(http::header::IF_MATCH);
        let Updated { version, accepted } = updated.map_err(|problem| match problem.code() {
            "version_conflict" if by_header => edit_conflict(problem.detail()),
            _ => problem,
        })?;
        let stored = self.before.content.as_deref() != Some(version.text.as_str());
        if stored {
            self.app.recorder.record(layer_changed(&self.access.blueprint.name, &version));
        }
        Ok(Json(Written {
            version: version.into(),
            stored,
            remaining: accepted.remaining,
            labels: accepted.labels.into_iter().map(|label| label.phrase).collect(),
        }))
    }
}
