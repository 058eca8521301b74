//! The ways to language models: wire dialects as pure codecs, one transport, provider rows as data, and a model that
//! needs no network. Knows nothing of conversations, databases or the environment.

pub mod dialect;
mod http;
mod mask;
pub mod offline;
mod refusal;
mod retry_after;

pub use http::{Clock, HttpModel};
pub use retry_after::retry_after;
