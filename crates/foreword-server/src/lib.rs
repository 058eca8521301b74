//! The agent, reached from anywhere: HTTP, WebSocket, and drop-in endpoints for clients people already have. What goes in
//! and what comes out is here, and who may ask for it; what is decided is decided below.
//!
//! [`Server::start`](server::Server::start) is given an agent and a place to listen. Every route but `/healthz` and `/readyz`
//! needs a token ([`auth`]); whatever is refused is refused with a [`problem`] that has a stable code.

mod api;
mod app;
pub mod auth;
mod body_clock;
mod body_limit;
mod channels;
mod connections;
mod counted_body;
mod cross_origin;
mod described;
pub mod error;
mod gentle_close;
mod health;
mod live;
pub mod mcp;
mod nodes;
mod openapi;
mod overhead;
mod page;
mod patient_writes;
pub mod problem;
mod proxy;
mod request_id;
mod response_headers;
mod router;
pub mod server;
mod standing_problems;
mod tls;
mod traffic;
