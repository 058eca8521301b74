//! What is asked of a model and what it answers, in no provider's form. The dialects in `foreword-providers` turn a
//! [`ModelRequest`] into bytes, and a provider's stream into [`ModelEvent`]s or a [`ModelError`].

mod error;
mod event;
pub mod marks;
mod port;
mod request;
mod usage;

pub use error::{ErrorKind, ModelError};
pub use event::{ModelEvent, Note, StopReason};
pub use port::{Model, ModelStream};
pub use request::{CachePlan, Diagnostics, ModelRequest, RequestMessage, RequestRole, SystemBlock};
pub use usage::{AnthropicUsage, openai_usage, reported_cost};
