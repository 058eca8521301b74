//! Clients of model providers: the wire dialects as pure codecs and one HTTP transport. Knows nothing about
//! conversations, databases or the environment. The offline model is a crate of its own, `foreword-offline`.

pub mod dialect;
mod error_response;
mod http;
mod mask;
mod retry_after;

pub use http::{Clock, HttpModel};
pub use retry_after::retry_after;
