//! The template of blueprint `template`, and its variables. An invalid template is not stored.

pub(crate) mod check;
pub(crate) mod history;
pub(crate) mod impact;
mod new_template;
mod template_check;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use foreword_agent::prompt::stored_changes::template_changed;
use foreword_core::api_token::Scope;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::bracket::{DEFAULT_TEMPLATE, catalog};
use foreword_store::error::StoreError;
use foreword_store::templates::{NewTemplate, TemplateRecord};
use foreword_workspace::template_problems::template_view;
use http::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;

pub(in crate::api) use self::new_template::line;
use self::new_template::{NewTemplateText, TemplateWrite};
pub(in crate::api) use self::template_check::{TemplateCheck, draft_problem, normalized};
use super::error_responses::{BodyErrors, CommonErrors};
use super::etag::{IfMatch, check_if_match, edit_conflict, json_with_etag};
use super::extract;
use super::permission::owner_reads;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::{Problem, ProblemLocation};

/// The template that prompts are built from.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TemplateBody {
    /// The text.
    #[schema(example = "You are a helpful coding assistant.")]
    template: String,
    /// Its version, if stored.
    version: Option<u64>,
    /// Its source: `stored`, `file` or `builtin`.
    #[schema(example = "stored")]
    source: &'static str,
    /// The file, if any.
    origin: Option<String>,
    /// The author.
    author: Option<String>,
    /// The author's message.
    message: Option<String>,
    /// When it was stored.
    #[schema(value_type = Option<String>, format = DateTime)]
    at: Option<Timestamp>,
}

impl From<TemplateRecord> for TemplateBody {
    fn from(stored: TemplateRecord) -> Self {
        Self {
            template: stored.text,
            version: Some(stored.version),
            source: "stored",
            origin: None,
            author: Some(stored.author),
            message: stored.message,
            at: Some(stored.at),
        }
    }
}

/// The current template.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StoredTemplate {
    /// The text.
    template: String,
    /// Its version.
    version: u64,
    /// Whether it is new: an unchanged text creates no version.
    stored: bool,
    /// Probable mistakes.
    warnings: Vec<ProblemLocation>,
}

/// A new template, for the OpenAPI document; [`TemplateWrite`] parses it.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct NewTemplateBody {
    /// The text.
    template: String,
    /// The author's message, on one line.
    #[schema(max_length = 500)]
    message: Option<String>,
    /// The version to replace; another current version is a conflict. 0 means that none is stored.
    expected_version: Option<u64>,
}

/// A template variable.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Variable {
    /// The type: the part before the colon.
    #[serde(rename = "type")]
    #[schema(example = "system")]
    kind: &'static str,
    /// The name: the part after the colon.
    #[schema(example = "time")]
    name: &'static str,
    /// A description of its value.
    description: &'static str,
    /// Whether any name is valid for this type.
    dynamic: bool,
}

/// The template variables.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Variables {
    /// The variables.
    variables: Vec<Variable>,
}

/// Returns the template of new conversations. Owner only, with `observe` or `admin`.
#[utoipa::path(get, path = "/system-prompt", tag = "template",
    responses((status = 200, body = TemplateBody), (status = 304, description = "Not modified."), CommonErrors))]
pub(crate) async fn get_template(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    owner_reads(&caller, &app.config())?;
    Ok(json_with_etag(&headers, &current(&app).await?))
}

/// Stores a template, if it is valid. Owner only, with `admin`. Running conversations keep theirs until they are
/// compacted.
#[utoipa::path(put, path = "/system-prompt", tag = "template", request_body = NewTemplateBody,
    params(("If-Match" = Option<String>, Header, description = "The ETag of the version to replace.")),
    responses((status = 200, body = StoredTemplate),
        (status = 412, body = Problem, content_type = "application/problem+json"), CommonErrors, BodyErrors))]
pub(crate) async fn put_template(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    extract::Json(sent): extract::Json<serde_json::Value>,
) -> Result<Response, Problem> {
    caller.require_owner(Scope::Admin, &app.config())?;
    let wish = TemplateWrite::read(&sent)?;
    let current = current(&app).await?;
    let expected = match check_if_match(&headers, &current)? {
        IfMatch::Matches => Some(current.version.unwrap_or(0)),
        IfMatch::Absent => wish.expected,
    };
    let stored = store(&app, &caller, NewTemplateText { expected, ..wish.text }).await;
    Ok(stored.map_err(|problem| with_header_status(problem, &headers))?.into_response())
}

/// Lists the template variables. With any token.
#[utoipa::path(get, path = "/system-prompt/variables", tag = "template",
    responses((status = 200, body = Variables), (status = 304, description = "Not modified."), CommonErrors))]
pub(crate) async fn list_variables(_: Caller, headers: HeaderMap) -> Response {
    let variable = |entry: &foreword_prompt::bracket::CatalogEntry| Variable {
        kind: entry.kind,
        name: entry.name,
        description: entry.description,
        dynamic: entry.dynamic,
    };
    json_with_etag(&headers, &Variables { variables: catalog().iter().map(variable).collect() })
}

/// The current template, stored or not.
async fn current(app: &App) -> Result<TemplateBody, Problem> {
    let stored = match app.store.template().await {
        // A damaged template can be replaced.
        Err(StoreError::Damaged { .. }) => None,
        found => found?,
    };
    if let Some(stored) = stored {
        return Ok(stored.into());
    }
    let snapshot = app.workspace.snapshot();
    let (template, source, origin) = match &snapshot.config.prompt.template_file {
        Some(path) => (snapshot.file(path)?.text.to_string(), "file", Some(path.to_string())),
        None => (DEFAULT_TEMPLATE.to_owned(), "builtin", None),
    };
    Ok(TemplateBody { template, version: None, source, origin, author: None, message: None, at: None })
}

/// Checks and stores a template.
async fn store(app: &App, caller: &Caller, words: NewTemplateText) -> Result<Json<StoredTemplate>, Problem> {
    let view = template_view(&app.workspace.snapshot());
    let warnings = TemplateCheck::of(&view, app.workspace.dir(), &words.text.as_str().into())?.usable()?;
    let before = app.store.template().await.ok().flatten().map(|before| before.version);
    let template = app
        .store
        .add_template(NewTemplate {
            text: words.text,
            author: caller.user().to_owned(),
            message: words.message,
            at: app.now(),
            expected: words.expected,
        })
        .await?;
    let is_new = before != Some(template.version);
    if is_new {
        app.recorder.record(template_changed(&template));
    }
    Ok(Json(StoredTemplate { template: template.text, version: template.version, stored: is_new, warnings }))
}

/// With `If-Match`, a conflict is 412 instead of 409.
fn with_header_status(problem: Problem, headers: &HeaderMap) -> Problem {
    let by_header = headers.contains_key(http::header::IF_MATCH) && problem.code() == "version_conflict";
    if by_header { edit_conflict(problem.detail()) } else { problem }
}
