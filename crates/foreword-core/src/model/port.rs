//! The interface to a model.

use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;

use super::{ModelError, ModelEvent, ModelRequest};

/// The events of an answer. The stream ends after [`ModelEvent::Stopped`] or the first error; dropping it cancels the
/// call.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// A model. One call is one request: the caller decides about retries.
pub trait Model: Send + Sync {
    /// Calls the model. Nothing is sent until the stream is polled.
    fn call(&self, request: Arc<ModelRequest>) -> ModelStream;
}
