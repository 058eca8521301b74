//! Every HTTP route and the middleware around it. Routes in [`authenticated_routes`] need a token; those in
//! [`public_routes`] do not.
//!
//! [`DROP_IN_ROUTES`] lists the drop-in endpoints below `/anthropic` and `/openai`. [`connections`](crate::connections)
//! passes them to [`proxy`](crate::proxy) before this router, because they are forwarded as bytes; the proxy
//! authenticates and limits them itself.

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::any;
use axum::{Extension, Router};
use foreword_core::provider::WireDialect;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi as Document;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::channels::{deliveries, inbound};
use crate::api::{
    cache, conversations, costs, events, inbox, layers, memory, occasions, prompts, schedules, senders,
    session, simulate, status, template, tokens, tools, traces, turns, workflow_runs, workflows,
};
use crate::app::App;
use crate::auth::{authenticate, limit_rate};
use crate::live::{sse, websocket};
use crate::middleware::body_limit::limit_body;
use crate::middleware::request_id::assign_request_id;
use crate::middleware::traffic::count_requests;
use crate::operations::health;
use crate::problem::Problem;
use crate::proxy::route::{DropInRoute, Route};
use crate::response_headers::add_security_headers;
use crate::{mcp, openapi, page};

/// The drop-in endpoints.
pub(crate) const DROP_IN_ROUTES: [DropInRoute; 8] = [
    DropInRoute::post(WireDialect::Anthropic, "messages", Route::Messages),
    DropInRoute::post(WireDialect::Anthropic, "messages/count_tokens", Route::CountTokens),
    DropInRoute::get(WireDialect::Anthropic, "models", Route::Models),
    DropInRoute::get(WireDialect::Anthropic, "models/{id}", Route::Models),
    DropInRoute::post(WireDialect::OpenAi, "chat/completions", Route::ChatCompletions),
    DropInRoute::post(WireDialect::OpenAi, "embeddings", Route::Embeddings),
    DropInRoute::get(WireDialect::OpenAi, "models", Route::Models),
    DropInRoute::get(WireDialect::OpenAi, "models/{id}", Route::Models),
];

/// The router, and the OpenAPI document that describes it.
pub(crate) fn build(app: &App) -> (Router, Document) {
    let (router, document) = OpenApiRouter::with_openapi(openapi::head())
        .merge(public_routes())
        .merge(with_authentication(authenticated_routes(), app))
        .split_for_parts();
    let document = openapi::complete(document);
    let router = router.fallback(not_found).method_not_allowed_fallback(method_not_allowed);
    (with_middleware(router, &document, app).with_state(app.clone()), document)
}

/// Routes without the authentication middleware. The WebSocket authenticates itself, since a browser can't send an
/// `Authorization` header with it.
fn public_routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(health::get_healthz))
        .routes(routes!(health::get_readyz))
        .routes(routes!(openapi::get_docs))
        .routes(routes!(openapi::get_docs_script))
        .routes(routes!(openapi::get_docs_style))
        .routes(routes!(page::get_index))
        .routes(routes!(page::get_icon))
        .routes(routes!(page::get_asset))
        .merge(sign_in_route())
        .routes(routes!(websocket::open_websocket))
}

fn sign_in_route() -> OpenApiRouter<App> {
    let limit = DefaultBodyLimit::max(session::MAX_BODY_BYTES);
    OpenApiRouter::new().routes(routes!(session::sign_in)).layer(limit)
}

fn authenticated_routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(prompts::PromptSchemas::openapi())
        .routes(routes!(cache::get_cache))
        .routes(routes!(conversations::create_conversation, conversations::list_conversations))
        .routes(routes!(conversations::get_conversation, conversations::delete_conversation))
        .routes(routes!(conversations::settings::update_conversation))
        .routes(routes!(conversations::compact_conversation))
        .routes(routes!(conversations::cancel_turn))
        .routes(routes!(conversations::messages::list_messages))
        .routes(routes!(conversations::post_message::post_message))
        .routes(routes!(conversations::prompt::get_prompt))
        .routes(routes!(costs::get_costs))
        .routes(routes!(events::list_events))
        .routes(routes!(inbox::post_inbox_message, inbox::list_inbox))
        .routes(routes!(inbox::get_inbox_message))
        .routes(routes!(layers::list_layers))
        .routes(routes!(layers::get_layer))
        .routes(routes!(layers::list_layer_versions))
        .routes(routes!(layers::write::set_layer))
        .routes(routes!(layers::write::rollback_layer))
        .routes(routes!(memory::get_memory_index))
        .routes(routes!(memory::search_memory))
        .routes(routes!(memory::read_memory))
        .routes(routes!(memory::write_memory))
        .routes(routes!(occasions::list_occasions))
        .routes(routes!(prompts::build_prompt))
        .routes(routes!(schedules::list_schedules))
        .routes(routes!(schedules::get_schedule))
        .routes(routes!(schedules::list_firings))
        .routes(routes!(schedules::run_schedule))
        .routes(routes!(senders::list_senders))
        .routes(routes!(senders::get_sender))
        .routes(routes!(session::get_session, session::sign_out))
        .routes(routes!(simulate::get_simulation))
        .routes(routes!(status::get_status))
        .routes(routes!(template::get_template, template::put_template))
        .routes(routes!(template::list_variables))
        .routes(routes!(template::check::check_template))
        .routes(routes!(template::history::list_versions))
        .routes(routes!(template::history::get_version))
        .routes(routes!(template::history::restore_version))
        .routes(routes!(template::impact::estimate_impact))
        .routes(routes!(tokens::list_tokens, tokens::create_token))
        .routes(routes!(tokens::revoke_token))
        .routes(routes!(tools::list_tools))
        .routes(routes!(traces::get_trace))
        .routes(routes!(turns::list_turns))
        .routes(routes!(workflows::list_workflows))
        .routes(routes!(workflows::get_workflow))
        .routes(routes!(workflows::run_workflow))
        .routes(routes!(workflow_runs::list_workflow_runs))
        .routes(routes!(workflow_runs::get_workflow_run))
        .routes(routes!(workflow_runs::resume_workflow_run))
        .routes(routes!(inbound::accept_message))
        .routes(routes!(deliveries::list_deliveries))
        .routes(routes!(deliveries::retry_delivery))
        .routes(routes!(health::get_metrics))
        .routes(routes!(sse::stream_conversation))
        .route("/mcp", any(mcp::http::handle))
        .routes(routes!(openapi::get_openapi))
}

/// Middleware of routes that need a token. The last layer runs first.
fn with_authentication(routes: OpenApiRouter<App>, app: &App) -> OpenApiRouter<App> {
    routes
        .layer(from_fn_with_state(app.clone(), limit_body))
        .layer(from_fn_with_state(app.clone(), limit_rate))
        .layer(from_fn_with_state(app.clone(), authenticate))
}

/// Middleware of all routes. The last layer runs first.
fn with_middleware(router: Router<App>, document: &Document, app: &App) -> Router<App> {
    router
        .layer(Extension(openapi::OpenApiDocument(Arc::new(document.clone()))))
        .layer(DefaultBodyLimit::max(app.config().server.limits.body))
        .layer(from_fn(add_security_headers))
        .layer(from_fn_with_state(app.clone(), assign_request_id))
        .layer(from_fn_with_state(app.clone(), count_requests))
}

async fn not_found(uri: http::Uri) -> Problem {
    Problem::not_found("route", uri.path()).help("`/openapi.json` lists all routes")
}

async fn method_not_allowed(method: http::Method, uri: http::Uri) -> Problem {
    let path = foreword_prompt::untrusted::display_line(uri.path(), 120);
    let detail = format!("`{path}` does not accept {method}");
    Problem::new(http::StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::proxy::route::{NoRoute, dialect, target};

    fn check(method: Method, path: &str, expected: Result<(Route, &str), NoRoute>) {
        let (dialect, rest) = dialect(path).unwrap();
        let found = target(&DROP_IN_ROUTES, dialect, &method, rest).map(|target| (target.route, target.rest));
        assert_eq!(found, expected, "{method} {path}");
    }

    #[test]
    fn paths_resolve_to_their_route() {
        let post = Method::POST;
        check(post.clone(), "/anthropic/v1/messages", Ok((Route::Messages, "messages")));
        check(post.clone(), "/anthropic/messages", Ok((Route::Messages, "messages")));
        check(post.clone(), "/anthropic/v1/v1/messages", Ok((Route::Messages, "messages")));
        check(
            post.clone(),
            "/anthropic/v1/messages/count_tokens",
            Ok((Route::CountTokens, "messages/count_tokens")),
        );
        check(post.clone(), "/openai/v1/chat/completions", Ok((Route::ChatCompletions, "chat/completions")));
        check(post.clone(), "/openai/chat/completions", Ok((Route::ChatCompletions, "chat/completions")));
        check(post.clone(), "/openai/v1/embeddings", Ok((Route::Embeddings, "embeddings")));
        check(Method::GET, "/openai/v1/models", Ok((Route::Models, "models")));
        check(Method::GET, "/anthropic/v1/models/claude-x", Ok((Route::Models, "models/claude-x")));
        check(
            Method::GET,
            "/openai/v1/models/meta-llama/x:free",
            Ok((Route::Models, "models/meta-llama/x:free")),
        );
        check(
            Method::GET,
            "/openai/v1/models/meta-llama%2Fx%3Afree",
            Ok((Route::Models, "models/meta-llama%2Fx%3Afree")),
        );
    }

    #[test]
    fn unknown_paths_have_no_route() {
        for path in [
            "/anthropic",
            "/anthropic/",
            "/anthropic/v1/complete",
            "/anthropic/v1/chat/completions",
            "/anthropic/v1/models/",
            "/anthropic/v1/models/..",
            "/anthropic/v1/models/a/../../x",
            "/anthropic/v1/models/a%2f..",
            "/anthropic/v1/models/%2e%2e/messages",
            "/anthropic/v1/models/a%252fb",
            "/anthropic/v1/models/a%2f",
            "/openai/v1/messages",
            "/openai/v1/files",
        ] {
            check(Method::POST, path, Err(NoRoute::Unknown));
        }
        check(Method::GET, "/anthropic/v1/messages", Err(NoRoute::Method("POST")));
        check(Method::POST, "/openai/v1/models", Err(NoRoute::Method("GET")));
        assert_eq!(dialect("/anthropical/v1/messages"), None);
        assert_eq!(dialect("/api/v1/anthropic"), None);
    }

    #[test]
    fn openapi_document_lists_the_drop_in_routes() {
        let document = serde_json::to_value(openapi::complete(openapi::head())).unwrap();
        for route in &DROP_IN_ROUTES {
            let operation = &document["paths"][route.full_path()][route.method.to_lowercase()];
            assert!(operation.is_object(), "{route:?}");
        }
    }
}
