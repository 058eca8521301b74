//! Blueprints: the ordered layers of a prompt. A [`Blueprint`] is always valid: its ids are unique, its order suits the
//! cache (or it declares otherwise), and its policy layers cannot be cut.

pub mod builtin;
mod check;
pub mod spec;

use std::sync::Arc;

use serde_saphyr::Location;

use crate::layer::Layer;
use spec::BlueprintSpec;

/// The layers of a prompt, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blueprint {
    /// Its name.
    pub name: Arc<str>,
    /// The separator between two layers.
    pub separator: Arc<str>,
    /// Whether the author accepts an order that invalidates the cache.
    pub allow_cache_unsafe: bool,
    /// Models with a smaller window get the compact form.
    pub compact_below: Option<usize>,
    /// The most characters of the assembled prompt, enforced when a mutable layer is written.
    pub max_chars: Option<usize>,
    /// The layers in author order.
    pub layers: Vec<Layer>,
}

/// A problem of a blueprint and its position.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct BlueprintProblem {
    /// The message.
    pub message: String,
    /// The advice.
    pub help: Option<String>,
    /// The place in the YAML it was read from.
    pub location: Location,
}

impl Blueprint {
    /// The blueprint written as `spec`, or everything that is wrong with it.
    ///
    /// # Errors
    /// All problems at once, each with its place.
    ///
    /// ```
    /// use foreword_prompt::blueprint::Blueprint;
    /// let spec = serde_saphyr::from_str("
    /// layers:
    ///   - { id: greeting, stability: static, trust: public, source: { text: Be kind. } }
    /// ").unwrap();
    /// let blueprint = Blueprint::from_spec("mine", &spec).unwrap();
    /// assert_eq!(blueprint.layers[0].id.as_str(), "greeting");
    /// ```
    pub fn from_spec(name: &str, spec: &BlueprintSpec) -> Result<Self, Vec<BlueprintProblem>> {
        check::blueprint(name, spec)
    }

    /// Whether a model with this context window gets the compact form.
    #[must_use]
    pub fn is_compact_for(&self, window: Option<usize>) -> bool {
        matches!((self.compact_below, window), (Some(limit), Some(window)) if window < limit)
    }
}
