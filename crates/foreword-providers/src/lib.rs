//! The ways to language models: wire dialects as pure codecs, one transport, provider rows as data, and a model that
//! needs no network. Knows nothing of conversations, databases or the environment.

pub mod offline;
pub mod dialect;
mod http;
mod mask;
mod refusal;
mod retry_after;

pub use http::{Clock, HttpModel};
pub use retry_after::retry_after;
