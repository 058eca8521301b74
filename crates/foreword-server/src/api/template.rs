//! The template of blueprint `template`, and what can stand in it. A template with problems is not stored.

mod check;
mod history;
mod impact;
mod looked_over;
mod words;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use foreword_agent::stored_changes::template_changed;
use foreword_core::api_token::Scope;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::bracket::{DEFAULT_TEMPLATE, catalog};
use foreword_store::error::StoreError;
use foreword_store::templates::{NewTemplate, Template};
use foreword_workspace::template_problems::template_view;
use http::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(in crate::api) use self::looked_over::{LookedOver, as_kept, tried_by_owner};
pub(in crate::api) use self::words::line;
use self::words::{NewWords, Wish};
use super::etag::{Read, changed_meanwhile, has_read, tagged};
use super::extract;
use super::permission::owner_reads;
use super::refusals::{Clashes, Refusals};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::{Problem, ProblemPlace};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(read, write))
        .routes(routes!(variables))
        .merge(check::routes())
        .merge(history::routes())
        .merge(impact::routes())
}

/// The template that prompts are built from.
#[derive(Debug, Serialize, ToSchema)]
struct TemplateBody {
    /// The template itself.
    #[schema(example = "You are a helpful coding assistant.")]
    template: String,
    /// Its number, if it is stored.
    version: Option<u64>,
    /// Where it is from: `stored`, `file` or `builtin`.
    #[schema(example = "stored")]
    source: &'static str,
    /// The file it is in, if it is in one.
    origin: Option<String>,
    /// Who wrote it.
    author: Option<String>,
    /// Why, in the author's words.
    message: Option<String>,
    /// When it was stored.
    #[schema(value_type = Option<String>, format = DateTime)]
    at: Option<Timestamp>,
}

impl From<Template> for TemplateBody {
    fn from(stored: Template) -> Self {
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

/// A template that is in force now.
#[derive(Debug, Serialize, ToSchema)]
struct StoredTemplate {
    /// The template itself.
    template: String,
    /// Its number.
    version: u64,
    /// Whether it is new: the same text again is the version there was.
    stored: bool,
    /// What works, but is probably not meant.
    warnings: Vec<ProblemPlace>,
}

/// A new template, for the document; what is sent is read by [`Wish`].
#[derive(ToSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct NewTemplateBody {
    /// The template itself.
    template: String,
    /// Why, in the author's words; a line.
    #[schema(max_length = 500)]
    message: Option<String>,
    /// The version it replaces: another one is a conflict. 0 is \"none is stored yet\".
    expected_version: Option<u64>,
}

/// Something a template can use.
#[derive(Debug, Serialize, ToSchema)]
struct Variable {
    /// The type: what stands before the colon.
    #[serde(rename = "type")]
    #[schema(example = "system")]
    kind: &'static str,
    /// The name: what stands after it.
    #[schema(example = "time")]
    name: &'static str,
    /// What its value is.
    description: &'static str,
    /// Whether any name is a variable of this type.
    dynamic: bool,
}

/// Everything a template can use.
#[derive(Debug, Serialize, ToSchema)]
struct Variables {
    /// The variables.
    variables: Vec<Variable>,
}

/// The template that new conversations are built from. For the owner, with `observe` or `admin`.
#[utoipa::path(get, path = "/system-prompt", tag = "template",
    responses((status = 200, body = TemplateBody), (status = 304, description = "Nothing has changed."), Refusals))]
async fn read(State(app): State<App>, caller: Caller, headers: HeaderMap) -> Result<Response, Problem> {
    owner_reads(&caller, &app.config())?;
    Ok(tagged(&headers, &current(&app).await?))
}

/// Stores a template, if it can be used. For the owner, with `admin`. Conversations that have begun go on with theirs until
/// they are compacted.
#[utoipa::path(put, path = "/system-prompt", tag = "template", request_body = NewTemplateBody,
    params(("If-Match" = Option<String>, Header, description = "The ETag of what it replaces.")),
    responses((status = 200, body = StoredTemplate),
        (status = 412, body = Problem, content_type = "application/problem+json"), Refusals, Clashes))]
async fn write(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    extract::Json(sent): extract::Json<serde_json::Value>,
) -> Result<Response, Problem> {
    caller.needs_owner(Scope::Admin, &app.config())?;
    let wish = Wish::read(&sent)?;
    let current = current(&app).await?;
    let expected = match has_read(&headers, &current)? {
        Read::This => Some(current.version.unwrap_or(0)),
        Read::Unsaid => wish.expected,
    };
    let stored = store(&app, &caller, NewWords { expected, ..wish.words }).await;
    Ok(stored.map_err(|problem| faster(problem, &headers))?.into_response())
}

/// Everything that can stand in a template. For any token.
#[utoipa::path(get, path = "/system-prompt/variables", tag = "template",
    responses((status = 200, body = Variables), (status = 304, description = "Nothing has changed."), Refusals))]
async fn variables(_: Caller, headers: HeaderMap) -> Response {
    let variable = |entry: &foreword_prompt::bracket::CatalogEntry| Variable {
        kind: entry.kind,
        name: entry.name,
        description: entry.description,
        dynamic: entry.dynamic,
    };
    tagged(&headers, &Variables { variables: catalog().iter().map(variable).collect() })
}

/// The template in force, stored or not.
async fn current(app: &App) -> Result<TemplateBody, Problem> {
    let stored = match app.store.template().await {
        // One that is damaged is no reason not to replace it.
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

/// Stores a template that was looked over.
async fn store(app: &App, caller: &Caller, words: NewWords) -> Result<Json<StoredTemplate>, Problem> {
    let view = template_view(&app.workspace.snapshot());
    let warnings = LookedOver::of(&view, app.workspace.place(), &words.text.as_str().into())?.usable()?;
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

/// Whoever has said by a header what they replace hears of it by the header's status.
fn faster(problem: Problem, headers: &HeaderMap) -> Problem {
    let by_header = headers.contains_key(http::header::IF_MATCH) && problem.code() == "version_conflict";
    if by_header { changed_meanwhile(problem.detail()) } else { problem }
}
