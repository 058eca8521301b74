//! The document that describes every route, made of the same types that are read and answered, and a reader for it. A route
//! of ours that is not in the document can't be reached: both are made by one router. What others describe is in `described`.

use std::sync::Arc;

use axum::Extension;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, header};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::server::Server;
use utoipa::openapi::{ContentBuilder, OpenApi as Document, Ref, RefOr, ResponseBuilder, Schema};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::tagged;
use crate::app::App;
use crate::described::describe;
use crate::live;
use crate::problem::{self, Problem};

/// What the document says of the whole.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Foreword",
        description = "The words an LLM agent reads first, and the agent behind them.\n\nEvery route but those that say \
            whether the server lives, and the files of its pages, needs a token: `Authorization: Bearer fwd_…`. A token \
            stands for a user, whose trust decides what is seen, and opens scopes, which are named with each route. What \
            may not be seen is not there. Refusals are `application/problem+json` with a `code` that stays the same."
    ),
    security(("bearer" = [])),
    components(schemas(Problem)),
    tags(
        (name = "operations", description = "Whether the server lives and works, and what it counts."),
        (name = "page", description = "The web page, and signing in to it."),
        (name = "documentation", description = "This document, and its reader."),
        (name = "observing", description = "What happened, what it cost, and how things stand."),
        (name = "agent", description = "What the agent can do."),
        (name = "conversations", description = "Talking to the agent, and what was said."),
        (name = "live", description = "What happens in conversations, as it happens."),
        (name = "prompts", description = "The prompt for an occasion."),
        (name = "template", description = "The template that the prompt is made from."),
        (name = "layers", description = "The stored layers of the prompt, and their history."),
        (name = "inbox", description = "Messages that wait for the agent."),
        (name = "senders", description = "Who has written, and what."),
        (name = "memory", description = "What the agent remembers."),
        (name = "channels", description = "Bridges to messengers."),
        (name = "drop-in", description = "Endpoints for clients of Anthropic and OpenAI."),
        (name = "mcp", description = "Memory, prompts and introspection for other agents."),
        (name = "workflows", description = "Workflows, and their runs."),
        (name = "schedules", description = "What runs by the clock."),
        (name = "tokens", description = "Who may ask for what."),
    ),
    modifiers(&Bearer)
)]
struct Head;

/// How a token is shown.
struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut Document) {
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("fwd_…")
            .description(Some("A token made by `foreword token create` or `POST /api/v1/tokens`."));
        let components = document.components.get_or_insert_with(Default::default);
        components.add_security_scheme("bearer", SecurityScheme::Http(bearer.build()));
        document.servers = Some(vec![Server::new("/")]);
    }
}

/// The beginning of the document.
pub(crate) fn head() -> Document {
    Head::openapi()
}

/// How any route that needs a token may refuse, whatever it is for.
const REFUSALS: [(&str, &str); 4] = [
    ("401", "No token, or one that opens nothing."),
    ("403", "A token that does not open this."),
    ("429", "Too much was asked with this token."),
    ("503", "It can't be done now."),
];
/// What else a status says where a route does not say it better.
const OTHERS: [(&str, &str); 12] = [
    ("200", "As asked for."),
    ("201", "It was made."),
    ("202", "Accepted: stored, and processed from now on."),
    ("400", "What was sent makes no sense."),
    ("404", "There is no such thing, or none that you may see."),
    ("408", "The body took too long to arrive."),
    ("409", "Conflicts with the current state."),
    ("412", "Changed since the version that the request names."),
    ("413", "The body is too large."),
    ("415", "The body is not said to be what it has to be."),
    ("422", "The body has other fields than it has to have."),
    ("502", "The model's provider failed."),
];

/// The document, once all routes are in it: every one that needs a token also says how it refuses, and every answer what it
/// stands for.
pub(crate) fn completed(mut document: Document) -> Document {
    let problem = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    let content_type = problem::CONTENT_TYPE;
    let media = content_type.to_str().unwrap_or_default();
    for (path, item) in &mut document.paths.paths {
        let methods = [
            ("get", &mut item.get),
            ("put", &mut item.put),
            ("post", &mut item.post),
            ("delete", &mut item.delete),
            ("patch", &mut item.patch),
        ];
        for (method, operation) in methods {
            let Some(operation) = operation else { continue };
            operation.operation_id = Some(operation_id(method, path));
            let answers = &mut operation.responses.responses;
            if operation.security.as_deref().is_none_or(asks_for_token) {
                for (status, words) in REFUSALS {
                    let response = ResponseBuilder::new().description(words).content(media, problem.clone());
                    answers.entry(status.to_owned()).or_insert_with(|| RefOr::T(response.build()));
                }
            }
            // Whatever is refused is told in one form.
            for (_, answer) in answers.iter_mut().filter(|(status, _)| status.starts_with(['4', '5'])) {
                if let RefOr::T(answer) = answer
                    && let Some(told) = answer.content.shift_remove("application/json")
                {
                    answer.content.insert(media.to_owned(), told);
                }
            }
            for (status, words) in REFUSALS.into_iter().chain(OTHERS) {
                if let Some(RefOr::T(answer)) = answers.get_mut(status)
                    && answer.description.is_empty()
                {
                    words.clone_into(&mut answer.description);
                }
            }
            for answer in answers.values_mut() {
                if let RefOr::T(answer) = answer {
                    let beside_json = answer.content.contains_key("application/json");
                    if let Some(RefOr::T(stream)) = answer.content.get_mut("text/event-stream") {
                        stream.schema = Some(live::event_stream(beside_json));
                    }
                }
            }
        }
    }
    complete_schemas(&mut document);
    describe(&mut document);
    document
}

/// Adds the schemas of what is streamed. A field with a default is optional, but generators that read it take it for required: its
/// description names the default.
fn complete_schemas(document: &mut Document) {
    let components = document.components.get_or_insert_with(Default::default);
    components.schemas.extend(live::schemas());
    for schema in components.schemas.values_mut() {
        let RefOr::T(Schema::Object(object)) = schema else { continue };
        for (name, property) in &mut object.properties {
            if let RefOr::T(Schema::Object(property)) = property
                && !object.required.contains(name)
            {
                property.default = None;
            }
        }
    }
}

/// What a generated client calls an operation: by method and path, which no two share.
pub(crate) fn operation_id(method: &str, path: &str) -> String {
    let path = path.strip_prefix("/api/v1").unwrap_or(path);
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    [method].into_iter().chain(words).collect::<Vec<_>>().join("_")
}

/// Whether some token is asked for.
fn asks_for_token(security: &[SecurityRequirement]) -> bool {
    !security.contains(&SecurityRequirement::default())
}

/// The route of the document itself, which needs a token.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_openapi))
}

/// The files of its reader, which need none: what they read does.
pub(crate) fn open_routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(get_docs))
        .routes(routes!(get_docs_script))
        .routes(routes!(get_docs_style))
}

/// The document as it is answered.
#[derive(Clone)]
pub(crate) struct Described(pub(crate) Arc<Document>);

/// This document
///
/// OpenAPI 3.1. Any token may read it. Has an `ETag`.
#[utoipa::path(get, path = "/openapi.json", tag = "documentation",
    responses(
        (status = 200, body = Object, content_type = "application/json"),
        (status = 304, description = "Nothing has changed."),
        (status = 401, body = Problem, content_type = "application/problem+json"),
    ))]
async fn get_openapi(Extension(document): Extension<Described>, headers: HeaderMap) -> Response {
    tagged(&headers, &*document.0)
}

/// A reader for this document
#[utoipa::path(get, path = "/docs", tag = "documentation", security(()),
    responses((status = 200, body = String, content_type = "text/html")))]
async fn get_docs() -> Response {
    file("text/html; charset=utf-8", include_str!("openapi/reader.html"))
}

/// Its script
#[utoipa::path(get, path = "/docs/reader.js", tag = "documentation", security(()),
    responses((status = 200, body = String, content_type = "text/javascript")))]
async fn get_docs_script() -> Response {
    file("text/javascript; charset=utf-8", include_str!("openapi/reader.js"))
}

/// Its style
#[utoipa::path(get, path = "/docs/reader.css", tag = "documentation", security(()),
    responses((status = 200, body = String, content_type = "text/css")))]
async fn get_docs_style() -> Response {
    file("text/css; charset=utf-8", include_str!("openapi/reader.css"))
}

/// What the page may do: run and show what this server gave out, ask this server, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

fn file(content_type: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    (headers, text).into_response()
}
