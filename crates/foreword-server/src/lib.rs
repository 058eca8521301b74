//! The HTTP server of the agent: the HTTP interface, WebSocket and server-sent events, and the drop-in endpoints for
//! clients of Anthropic and OpenAI. Handlers parse requests, check permissions and format responses; the logic is in
//! the crates below.
//!
//! [`Server::start`](server::Server::start) starts it. All routes are listed in `router`. Every route but the health
//! checks, the page's files and signing in needs a token ([`auth`]); errors are a [`problem`] with a stable code.

#![allow(missing_docs, reason = "an internal crate: names say what most public items are")]

mod api;
mod app;
pub mod auth;
mod body_timeout;
mod connection_workers;
mod connections;
mod counted_body;
mod cross_origin;
pub mod error;
mod lingering_close;
mod live;
pub mod mcp;
mod middleware;
mod openapi;
mod openapi_external;
mod operations;
mod overhead;
mod page;
pub mod problem;
mod proxy;
mod response_headers;
mod router;
pub mod server;
mod tls;
