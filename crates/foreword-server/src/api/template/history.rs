//! The versions of the template, and restoring one.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use foreword_core::api_token::Scope;
use foreword_core::timestamp::Timestamp;
use foreword_store::templates::TemplateRecord;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::new_template::{NewTemplateText, line};
use super::{StoredTemplate, TemplateBody, store};
use crate::api::error_responses::{BodyErrors, CommonErrors, NotFoundError};
use crate::api::etag::json_with_etag;
use crate::api::extract::{self, Path, Query};
use crate::api::pagination::{Page, PageQuery};
use crate::api::permission::owner_reads;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// A version of the template, without its text.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TemplateVersion {
    /// Its number, from 1.
    version: u64,
    /// The author.
    author: String,
    /// The author's message.
    message: Option<String>,
    /// When it was stored.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// The hash of its text.
    hash: String,
    /// Its length in characters.
    chars: usize,
}

/// A request to restore a version.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Restore {
    /// The reason, on one line.
    #[schema(max_length = 500)]
    message: Option<String>,
    /// The version to replace; another current version is a conflict.
    #[serde(alias = "expectedVersion")]
    expected_version: Option<u64>,
}

/// Lists the versions of the template, newest first. Owner only, with `observe` or `admin`.
#[utoipa::path(get, path = "/api/v1/template/history", tag = "template", params(PageQuery),
    responses((status = 200, body = Page<TemplateVersion>), CommonErrors))]
pub(crate) async fn list_versions(
    State(app): State<App>,
    caller: Caller,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<TemplateVersion>>, Problem> {
    owner_reads(&caller, &app.config())?;
    let limit = usize::try_from(page.limit()?).unwrap_or(usize::MAX);
    let before = match page.after() {
        Some(after) => crate::api::cursor::part::<u64>(after)?,
        None => u64::MAX,
    };
    let all = app.store.template_history().await?;
    let mut rest = all.into_iter().filter(|template| template.version < before);
    let items: Vec<TemplateVersion> = rest.by_ref().take(limit).map(template_version).collect();
    let next = rest.next().and(items.last()).map(|last| last.version.to_string());
    Ok(Json(Page { items, next }))
}

/// Returns a version of the template. Owner only, with `observe` or `admin`.
#[utoipa::path(get, path = "/api/v1/template/history/{version}", tag = "template",
    params(("version" = u64, Path, description = "Its number.")),
    responses((status = 200, body = TemplateBody), (status = 304, description = "Not modified."),
        CommonErrors, NotFoundError))]
pub(crate) async fn get_version(
    State(app): State<App>,
    caller: Caller,
    Path(version): Path<u64>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    owner_reads(&caller, &app.config())?;
    Ok(json_with_etag(&headers, &TemplateBody::from(found(&app, version).await?)))
}

/// Restores an earlier version, as a new version. Owner only, with `admin`.
#[utoipa::path(post, path = "/api/v1/template/history/{version}/restore", tag = "template", request_body = Restore,
    params(("version" = u64, Path, description = "Its number.")),
    responses((status = 200, body = StoredTemplate), CommonErrors, NotFoundError, BodyErrors))]
pub(crate) async fn restore_version(
    State(app): State<App>,
    caller: Caller,
    Path(version): Path<u64>,
    extract::Json(wish): extract::Json<Restore>,
) -> Result<Json<StoredTemplate>, Problem> {
    caller.require_owner(Scope::Admin, &app.config())?;
    let text = found(&app, version).await?.text;
    let message = wish.message.as_deref().map(|words| line("message", words)).transpose()?;
    store(&app, &caller, NewTemplateText { text, message, expected: wish.expected_version }).await
}

/// A number beyond the database's range is not found.
async fn found(app: &App, version: u64) -> Result<TemplateRecord, Problem> {
    if i64::try_from(version).is_err() {
        return Err(Problem::not_found("template version", &version.to_string()));
    }
    Ok(app.store.template_version(version).await?)
}

fn template_version(template: TemplateRecord) -> TemplateVersion {
    TemplateVersion {
        version: template.version,
        author: template.author,
        message: template.message,
        at: template.at,
        hash: template.hash.to_string(),
        chars: template.text.chars().count(),
    }
}
