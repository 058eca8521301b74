//! The template as it was: every version, and the way back to one.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use foreword_core::api_token::Scope;
use foreword_core::timestamp::Timestamp;
use foreword_store::templates::Template;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::words::{NewWords, line};
use super::{StoredTemplate, TemplateBody, store};
use crate::api::etag::tagged;
use crate::api::extract::{self, Path, Query};
use crate::api::paging::{Page, PageQuery};
use crate::api::permission::owner_reads;
use crate::api::refusals::{Clashes, NotThere, Refusals};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(one)).routes(routes!(restore))
}

/// A version of the template, without its text.
#[derive(Debug, Serialize, ToSchema)]
struct TemplateVersion {
    /// Its number; the first is 1.
    version: u64,
    /// Who wrote it.
    author: String,
    /// Why, in the author's words.
    message: Option<String>,
    /// When it was stored.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// The name of its content.
    hash: String,
    /// How many characters it has.
    chars: usize,
}

/// Why an earlier template is wanted back.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Restore {
    /// Why; a line.
    #[schema(max_length = 500)]
    message: Option<String>,
    /// The version it replaces: another one is a conflict.
    #[serde(alias = "expectedVersion")]
    expected_version: Option<u64>,
}

/// The versions of the template, the newest first. For the owner, with `observe` or `admin`.
#[utoipa::path(get, path = "/api/v1/template/history", tag = "template", params(PageQuery),
    responses((status = 200, body = Page<TemplateVersion>), Refusals))]
async fn list(
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
    let items: Vec<TemplateVersion> = rest.by_ref().take(limit).map(told).collect();
    let next = rest.next().and(items.last()).map(|last| last.version.to_string());
    Ok(Json(Page { items, next }))
}

/// One version of the template. For the owner, with `observe` or `admin`.
#[utoipa::path(get, path = "/api/v1/template/history/{version}", tag = "template",
    params(("version" = u64, Path, description = "Its number.")),
    responses((status = 200, body = TemplateBody), (status = 304, description = "Nothing has changed."),
        Refusals, NotThere))]
async fn one(
    State(app): State<App>,
    caller: Caller,
    Path(version): Path<u64>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    owner_reads(&caller, &app.config())?;
    Ok(tagged(&headers, &TemplateBody::from(found(&app, version).await?)))
}

/// Gives an earlier template out again, as the next version. For the owner, with `admin`.
#[utoipa::path(post, path = "/api/v1/template/history/{version}/restore", tag = "template", request_body = Restore,
    params(("version" = u64, Path, description = "Its number.")),
    responses((status = 200, body = StoredTemplate), Refusals, NotThere, Clashes))]
async fn restore(
    State(app): State<App>,
    caller: Caller,
    Path(version): Path<u64>,
    extract::Json(wish): extract::Json<Restore>,
) -> Result<Json<StoredTemplate>, Problem> {
    caller.needs_owner(Scope::Admin, &app.config())?;
    let text = found(&app, version).await?.text;
    let message = wish.message.as_deref().map(|words| line("message", words)).transpose()?;
    store(&app, &caller, NewWords { text, message, expected: wish.expected_version }).await
}

/// A version nobody could store is one that is not there.
async fn found(app: &App, version: u64) -> Result<Template, Problem> {
    if i64::try_from(version).is_err() {
        return Err(Problem::not_found("template version", &version.to_string()));
    }
    Ok(app.store.template_version(version).await?)
}

fn told(template: Template) -> TemplateVersion {
    TemplateVersion {
        version: template.version,
        author: template.author,
        message: template.message,
        at: template.at,
        hash: template.hash.to_string(),
        chars: template.text.chars().count(),
    }
}
