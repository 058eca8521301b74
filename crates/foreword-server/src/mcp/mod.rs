//! Memory, prompts and introspection for other agents, as a server of the Model Context Protocol: over HTTP at `/mcp`, where
//! a token says who asks, and on standard input and output, where whoever starts the program says it.

mod handler;
mod http;
mod stdio;

pub use stdio::serve_stdio;

use axum::routing::any;
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().route("/mcp", any(http::answer))
}
