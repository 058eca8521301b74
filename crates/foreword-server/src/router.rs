//! Which route leads where. Everything that is not listed as open needs a token.

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::{Extension, Router};
use utoipa::openapi::OpenApi as Document;
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::auth::{authenticated, within_limits};
use crate::body_limit::small_enough;
use crate::problem::Problem;
use crate::{api, channels, health, live, mcp, openapi, page, request_id, traffic};

/// All routes, and the document that describes them.
pub(crate) fn routes(app: &App) -> (Router, Document) {
    let closed = OpenApiRouter::new()
        .merge(api::routes())
        .merge(channels::routes())
        .merge(health::routes())
        .merge(live::routes())
        .merge(mcp::routes())
        .merge(openapi::routes())
        .layer(from_fn_with_state(app.clone(), small_enough))
        .layer(from_fn_with_state(app.clone(), within_limits))
        .layer(from_fn_with_state(app.clone(), authenticated));
    let (router, document) = OpenApiRouter::with_openapi(openapi::head())
        .merge(health::open_routes())
        .merge(openapi::open_routes())
        .merge(page::open_routes())
        .merge(api::open_routes())
        .merge(live::socket_routes())
        .merge(closed)
        .split_for_parts();
    let document = openapi::completed(document);
    let router = router
        .fallback(nothing_here)
        .method_not_allowed_fallback(not_that_way)
        .layer(Extension(openapi::Described(Arc::new(document.clone()))))
        .layer(DefaultBodyLimit::max(app.config().server.limits.body))
        .layer(from_fn_with_state(app.clone(), request_id::named))
        .layer(from_fn_with_state(app.clone(), traffic::counted));
    (router.with_state(app.clone()), document)
}

async fn nothing_here(uri: http::Uri) -> Problem {
    Problem::not_found("route", uri.path()).help("`/openapi.json` lists what there is")
}

async fn not_that_way(method: http::Method, uri: http::Uri) -> Problem {
    let path = foreword_prompt::untrusted::display_line(uri.path(), 120);
    let detail = format!("`{path}` does not take {method}");
    Problem::new(http::StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
}
