//! The way to a model, whoever serves it.

use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;

use super::{ModelError, ModelEvent, ModelRequest};

/// The pieces of an answer, as they come. It ends behind [`ModelEvent::Stopped`] or the first error; dropping it cancels
/// the call.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// Something that answers. One call is one request: whoever calls decides whether to try again.
pub trait Model: Send + Sync {
    /// Asks. Nothing is sent before the stream is read.
    fn call(&self, request: Arc<ModelRequest>) -> ModelStream;
}
