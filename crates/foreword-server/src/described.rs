//! The routes that are not ours to describe in the document: drop-in endpoints, which are what their providers say they are, and
//! the Model Context Protocol. The document says where they lead, what is added, and how we refuse.

use serde_json::json;
use utoipa::openapi::path::{OperationBuilder, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{
    ContentBuilder, HttpMethod, OpenApi as Document, Ref, RefOr, Required, ResponseBuilder, Schema,
};

use crate::openapi::operation_id;

/// A route that somebody else describes.
struct Elsewhere {
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
) -> Elsewhere {
    Elsewhere { method, path, tag: "drop-in", summary, description }
}

const ROUTES: [Elsewhere; 9] = [
    drop_in(
        HttpMethod::Post,
        "/anthropic/v1/messages",
        "Anthropic's messages",
        "Streamed or not, as the body says. In `prepend` and `replace` the agent's prompt is put in. With `chat`, or on this \
         machine with a key of the client's own.",
    ),
    drop_in(
        HttpMethod::Post,
        "/anthropic/v1/messages/count_tokens",
        "Anthropic's count of tokens",
        "Passed on as it is. With `chat`.",
    ),
    drop_in(
        HttpMethod::Get,
        "/anthropic/v1/models",
        "Anthropic's models",
        "Passed on as it is. With `chat`.",
    ),
    drop_in(
        HttpMethod::Get,
        "/anthropic/v1/models/{id}",
        "One of Anthropic's models",
        "Passed on as it is. With `chat`.",
    ),
    drop_in(
        HttpMethod::Post,
        "/openai/v1/chat/completions",
        "OpenAI's chat completions",
        "Streamed or not, as the body says. In `prepend` and `replace` the agent's prompt is put in. With `chat`, or on this \
         machine with a key of the client's own.",
    ),
    drop_in(
        HttpMethod::Post,
        "/openai/v1/embeddings",
        "OpenAI's embeddings",
        "Passed on as it is, and paid for like everything else. With `chat`.",
    ),
    drop_in(HttpMethod::Get, "/openai/v1/models", "OpenAI's models", "Passed on as it is. With `chat`."),
    drop_in(
        HttpMethod::Get,
        "/openai/v1/models/{id}",
        "One of OpenAI's models",
        "Passed on as it is. With `chat`.",
    ),
    Elsewhere {
        method: HttpMethod::Post,
        path: "/mcp",
        tag: "mcp",
        summary: "A request of the Model Context Protocol",
        description: "Memory, prompts and introspection as tools, without sessions: what a tool needs of scopes and trust is the \
             token's.",
    },
];

/// What a client may say of the occasion in the head of its request.
const HEADERS: [(&str, &str); 4] = [
    ("x-foreword-user", "Who speaks; only with the scope `assert`."),
    ("x-foreword-channel", "Where; only with the scope `assert`."),
    ("x-foreword-situation", "The situation; only with the scope `assert`."),
    ("x-foreword-conversation", "The conversation it belongs to; by default the one that begins like it."),
];

/// How such a route may be refused before anybody else is asked.
const REFUSALS: [(&str, &str); 5] = [
    ("400", "What was sent makes no sense."),
    ("401", "No token, or one that opens nothing."),
    ("403", "A token that does not open this."),
    ("413", "The body is too large."),
    ("429", "Too much was asked with this token, or of the provider."),
];
/// How else a drop-in endpoint refuses.
const OF_DROP_INS: [(&str, &str); 1] = [("502", "The provider can't be reached.")];
/// How else the endpoint of the Model Context Protocol refuses.
const OF_PROTOCOL: [(&str, &str); 2] = [
    ("406", "`Accept` does not have both `application/json` and `text/event-stream`."),
    ("415", "`Content-Type` is not `application/json`."),
];

/// Puts them into the document.
pub(crate) fn describe(document: &mut Document) {
    for route in &ROUTES {
        let operation = operation(route);
        document.paths.paths.insert(route.path.to_owned(), PathItem::new(route.method.clone(), operation));
    }
}

fn operation(route: &Elsewhere) -> OperationBuilder {
    let json = || ContentBuilder::new().schema(Some(anything())).build();
    let stream = || ContentBuilder::new().schema(Some(text())).build();
    let is_drop_in = route.tag == "drop-in";
    let mut good =
        ResponseBuilder::new().description("As whoever answers says it.").content("application/json", json());
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
            for (name, words) in HEADERS {
                let header = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Header);
                operation = operation.parameter(header.schema(Some(text())).description(Some(words)));
            }
        }
    }
    operation = operation.response("200", good);
    let more: &[(&str, &str)] = if is_drop_in { &OF_DROP_INS } else { &OF_PROTOCOL };
    if !is_drop_in {
        let accepted = ResponseBuilder::new().description("A notification or a response was accepted.");
        operation = operation.response("202", accepted);
    }
    for (status, words) in REFUSALS.iter().chain(more).copied() {
        // In the form that the client's library knows from its provider.
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
