//! Who answers for a model's name. The binary knows the providers and their keys; here it is only asked.

use std::sync::Arc;

use foreword_core::model::{Model, ModelError};
use foreword_core::models::ModelId;
use foreword_workspace::config::Config;

/// All models that can be called.
pub trait Models: Send + Sync {
    /// The model called `id`, as `config` says it is reached.
    ///
    /// # Errors
    /// If its provider is unknown, or its key is missing.
    fn find(&self, id: &ModelId, config: &Config) -> Result<Arc<dyn Model>, ModelError>;
}
