//! The interface to the models. The binary implements it with its providers and their keys.

use std::sync::Arc;

use foreword_core::model::{Model, ModelError};
use foreword_core::models::ModelId;
use foreword_workspace::config::Config;

/// Finds models by id.
pub trait Models: Send + Sync {
    /// The model with this id, reached as configured in `config`.
    ///
    /// # Errors
    /// If its provider is unknown, or its key is missing.
    fn find(&self, id: &ModelId, config: &Config) -> Result<Arc<dyn Model>, ModelError>;
}
