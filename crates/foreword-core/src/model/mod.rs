//! Requests to models and their answers, independent of the provider. The dialects in `foreword-providers` convert a
//! [`ModelRequest`] into bytes, and a provider's stream into [`ModelEvent`]s or a [`ModelError`].

pub mod breakpoints;
mod error;
mod event;
mod port;
mod request;
mod usage;

pub use error::{ErrorKind, ModelError};
pub use event::{ModelEvent, Note, StopReason};
pub use port::{Model, ModelStream};
pub use request::{CachePlan, Diagnostics, ModelRequest, RequestMessage, RequestRole, SystemBlock};
pub use usage::{AnthropicUsage, openai_usage, reported_cost};
