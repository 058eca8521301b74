//! The routes whose schemas are defined elsewhere: the drop-in endpoints, by the providers, and the Model Context
//! Protocol. The document lists their paths, added headers and errors.

use serde_json::json;
use utoipa::openapi::path::{OperationBuilder, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{
    ContentBuilder, HttpMethod, OpenApi as Document, Ref, RefOr, Required, ResponseBuilder, Schema,
};

use crate::openapi::operation_id;

/// A route whose schemas are defined elsewhere.
struct ExternalRoute {
    method: HttpMethod,
    path: &'static str,
    tag: &'static str,
    summary: &'static str,
    description: &'static str,
}

const fn drop_in(
    method: HttpMethod,
    path: &'static str,
    summary: &'static str,
    description: &'static str,
) -> ExternalRoute {
    ExternalRoute { method, path, tag: "drop-in", summary, description }
}

const ROUTES: [ExternalRoute; 9] = [
    drop_in(
        HttpMethod::Post,
        "/anthropic/v1/messages",
        "Anthropic's messages",
        "Streamed if the body has `stream: true`. In `prepend` and `replace` the agent's prompt is injected. With `chat`, or on this \
         machine with the client's own provider key.",
    ),
    drop_in(
        HttpMethod::Post,
        "/anthropic/v1/messages/count_tokens",
        "Anthropic's token count",
        "Forwarded unchanged. With `chat`.",
    ),
    drop_in(
        HttpMethod::Get,
        "/anthropic/v1/models",
        "Anthropic's models",
        "Forwarded unchanged. With `chat`.",
    ),
    drop_in(
        HttpMethod::Get,
        "/anthropic/v1/models/{id}",
        "An Anthropic model",
        "Forwarded unchanged. With `chat`.",
    ),
    drop_in(
        HttpMethod::Post,
        "/openai/v1/chat/completions",
        "OpenAI's chat completions",
        "Streamed if the body has `stream: true`. In `prepend` and `replace` the agent's prompt is injected. With `chat`, or on this \
         machine with the client's own provider key.",
    ),
    drop_in(
        HttpMethod::Post,
        "/openai/v1/embeddings",
        "OpenAI's embeddings",
        "Forwarded unchanged; counts against limits and budgets. With `chat`.",
    ),
    drop_in(HttpMethod::Get, "/openai/v1/models", "OpenAI's models", "Forwarded unchanged. With `chat`."),
    drop_in(
        HttpMethod::Get,
        "/openai/v1/models/{id}",
        "An OpenAI model",
        "Forwarded unchanged. With `chat`.",
    ),
    ExternalRoute {
        method: HttpMethod::Post,
        path: "/mcp",
        tag: "mcp",
        summary: "A Model Context Protocol request",
        description: "Memory, prompts and introspection as tools, without sessions. The token's scopes and trust decide which tools are \
             available.",
    },
];

/// The headers that set the occasion of a proxied request.
const ASSERTION_HEADERS: [(&str, &str); 4] = [
    ("x-foreword-user", "The user; only with the scope `assert`."),
    ("x-foreword-channel", "The channel; only with the scope `assert`."),
    ("x-foreword-situation", "The situation; only with the scope `assert`."),
    ("x-foreword-conversation", "The conversation. Default: the one with the same beginning."),
];

/// The errors of all these routes.
const REFUSALS: [(&str, &str); 5] = [
    ("400", "Malformed request."),
    ("401", "Missing, invalid, expired or revoked token."),
    ("403", "The token does not have the required scope."),
    ("413", "The body is too large."),
    ("429", "The limits of the token or of the provider are exceeded."),
];
/// Further errors of the drop-in endpoints.
const PROXY_REFUSALS: [(&str, &str); 1] = [("502", "The provider can't be reached.")];
/// Further errors of `/mcp`.
const MCP_REFUSALS: [(&str, &str); 2] = [
    ("406", "`Accept` does not have both `application/json` and `text/event-stream`."),
    ("415", "`Content-Type` is not `application/json`."),
];

/// Adds these routes to the document.
pub(crate) fn add_external_routes(document: &mut Document) {
    for route in &ROUTES {
        let operation = operation(route);
        document.paths.paths.insert(route.path.to_owned(), PathItem::new(route.method.clone(), operation));
    }
}

fn operation(route: &ExternalRoute) -> OperationBuilder {
    let json = || ContentBuilder::new().schema(Some(anything())).build();
    let stream = || ContentBuilder::new().schema(Some(text())).build();
    let is_drop_in = route.tag == "drop-in";
    let mut good = ResponseBuilder::new()
        .description("See the provider's or the protocol's documentation.")
        .content("application/json", json());
    let mut operation = OperationBuilder::new()
        .tag(route.tag)
        .summary(Some(route.summary))
        .description(Some(route.description));
    let method = if matches!(route.method, HttpMethod::Get) { "get" } else { "post" };
    operation = operation.operation_id(Some(operation_id(method, route.path)));
    if route.path.ends_with("{id}") {
        let id = ParameterBuilder::new().name("id").parameter_in(ParameterIn::Path);
        operation = operation
            .parameter(id.required(Required::True).schema(Some(text())).description(Some("Its name.")));
    }
    if matches!(route.method, HttpMethod::Post) {
        let body =
            RequestBodyBuilder::new().content("application/json", json()).required(Some(Required::True));
        operation = operation.request_body(Some(body.build()));
        good = good.content("text/event-stream", stream());
        if is_drop_in {
            for (name, words) in ASSERTION_HEADERS {
                let header = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Header);
                operation = operation.parameter(header.schema(Some(text())).description(Some(words)));
            }
        }
    }
    operation = operation.response("200", good);
    let more: &[(&str, &str)] = if is_drop_in { &PROXY_REFUSALS } else { &MCP_REFUSALS };
    if !is_drop_in {
        let accepted = ResponseBuilder::new().description("A notification or a response was accepted.");
        operation = operation.response("202", accepted);
    }
    for (status, words) in REFUSALS.iter().chain(more).copied() {
        // Errors of drop-in endpoints have the provider's format.
        let refusal = ResponseBuilder::new().description(words);
        let refusal = if is_drop_in {
            refusal.content("application/json", json())
        } else {
            let problem = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
            refusal.content("application/problem+json", problem)
        };
        operation = operation.response(status, refusal);
    }
    operation
}

fn anything() -> RefOr<Schema> {
    RefOr::T(ObjectBuilder::new().examples([json!({})]).build().into())
}

fn text() -> RefOr<Schema> {
    RefOr::T(ObjectBuilder::new().schema_type(SchemaType::Type(Type::String)).build().into())
}
