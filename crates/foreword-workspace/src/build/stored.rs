//! The text of mutable layers: the stored version if there is one, otherwise the default.

use std::sync::Arc;

use foreword_prompt::content::{Content, fill};
use foreword_prompt::layer::Layer;

use super::gather::{Gatherer, LayerSource, plain};

impl Gatherer<'_> {
    /// The text of a mutable layer: the stored version, otherwise the default. A stored text was validated when it was
    /// written and is data: its placeholders are not filled in.
    pub(super) fn stored(&mut self, layer: &Layer, default: &str) -> LayerSource {
        let config = &self.snapshot.config;
        let stored = self.request.stored.as_ref();
        let Some(stored) = stored.and_then(|stored| stored.layer(&config.blueprint.name, &layer.id)) else {
            return self.builtin(layer, default, false);
        };
        self.versions.layers.insert(layer.id.clone(), stored.version);
        let text = if stored.is_default {
            fill(&stored.text, &[("soul", &config.agent.soul)]).into()
        } else {
            Arc::clone(&stored.text)
        };
        let origin = format!("layer {} v{}", layer.id, stored.version);
        plain(Content::of_block(&text), layer.source.kind(), Some(origin.into()))
    }
}
