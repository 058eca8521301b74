//! Models served by another provider: `litellm/claude-haiku-4-5`, `openrouter/anthropic/claude-haiku-4.5`. They get the
//! facts of the original model, marked as assumed, since the intermediary sets its own prices and limits.

use std::borrow::Cow;

use super::catalog::without_version;
use super::facts::Assumed;
use super::{ModelCatalog, ModelFacts, ModelId};
use crate::provider::hosts_models_itself;

impl ModelCatalog {
    /// The facts about the model `name`: its own entry, otherwise the assumed facts of the listed model that another
    /// provider serves under this name. `None` if neither is known, or if the provider hosts models itself, with its
    /// own prices and cache.
    ///
    /// ```
    /// use foreword_core::models::ModelCatalog;
    /// let catalog = ModelCatalog::builtin();
    /// let facts = catalog.resolve("openrouter/anthropic/claude-haiku-4.5").unwrap();
    /// assert_eq!(facts.id.as_str(), "openrouter/anthropic/claude-haiku-4.5");
    /// assert_eq!(facts.assumed_from.as_ref().unwrap().as_str(), "anthropic/claude-haiku-4-5");
    /// assert!(catalog.resolve("ollama/claude-haiku-4-5").is_none());
    /// ```
    #[must_use]
    pub fn resolve(&self, name: &str) -> Option<Cow<'_, ModelFacts>> {
        if let Some(facts) = self.find(name) {
            return Some(Cow::Borrowed(facts));
        }
        let id: ModelId = name.parse().ok()?;
        if hosts_models_itself(id.provider()) {
            return None;
        }
        let original = self.served_as(id.name())?;
        Some(Cow::Owned(assumed(id, original)))
    }

    /// The listed model that an intermediary calls `name`, with or without the original provider. Ambiguous names match
    /// none.
    fn served_as(&self, name: &str) -> Option<&ModelFacts> {
        if let Some(facts) = self.find(name) {
            return Some(facts);
        }
        let bare = name.rsplit('/').next().unwrap_or(name);
        // Some gateways write `claude-haiku-4.5` for `claude-haiku-4-5`.
        let hyphens = bare.replace('.', "-");
        let spellings = [Some(bare), without_version(bare), Some(&hyphens), without_version(&hyphens)];
        spellings.into_iter().flatten().find_map(|spelling| self.only_one_named(spelling))
    }

    fn only_one_named(&self, name: &str) -> Option<&ModelFacts> {
        let is_named = |facts: &&ModelFacts| {
            std::iter::once(&facts.id).chain(&facts.aliases).any(|id| id.name() == name)
        };
        let mut found = self.iter().filter(is_named);
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }
}

fn assumed(id: ModelId, original: &ModelFacts) -> ModelFacts {
    let listed = original.source.as_deref().map_or_else(String::new, |source| format!("; {source}"));
    ModelFacts {
        id,
        aliases: Vec::new(),
        assumed: Assumed::ALL.to_vec(),
        assumed_from: Some(original.id.clone()),
        source: Some(format!("assumed from {}{listed}", original.id)),
        // A gateway may serve a retired model from elsewhere, or stop earlier.
        retires: None,
        ..original.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_behind_other_providers_resolve_to_assumed_facts() {
        let catalog = ModelCatalog::builtin();
        let resolved = |name| {
            let facts = catalog.resolve(name)?;
            Some(facts.assumed_from.as_ref().map_or("listed", |from| from.as_str()).to_owned())
        };
        for (name, from) in [
            ("anthropic/claude-haiku-4-5", Some("listed")),
            ("litellm/claude-haiku-4-5", Some("anthropic/claude-haiku-4-5")),
            ("litellm/claude-haiku-4-5-20251001", Some("anthropic/claude-haiku-4-5")),
            ("litellm/anthropic/claude-haiku-4-5", Some("anthropic/claude-haiku-4-5")),
            ("openrouter/anthropic/claude-haiku-4.5", Some("anthropic/claude-haiku-4-5")),
            ("openrouter/openai/gpt-5.6", Some("openai/gpt-5.6")),
            ("openrouter/google/gemini-2.5-pro", Some("google/gemini-2.5-pro")),
            ("openrouter/x-ai/grok-4.5", Some("xai/grok-4.5")),
            ("my-gateway/gpt-4o-2024-08-06", Some("openai/gpt-4o")),
            // Another edition of a model has another price.
            ("openrouter/openai/gpt-5-pro", None),
            ("openrouter/anthropic/claude-haiku-4.5:free", None),
            ("litellm/quay-7b", None),
            // These host models themselves.
            ("ollama/deepseek-v4-flash", None),
            ("groq/kimi-k3", None),
            ("offline/gpt-4o", None),
            ("gpt-4o", None),
            ("", None),
        ] {
            assert_eq!(resolved(name).as_deref(), from, "{name}");
        }
    }

    #[test]
    fn assumed_facts_keep_markers_window_and_price() {
        let catalog = ModelCatalog::builtin();
        let original = catalog.find("anthropic/claude-haiku-4-5").unwrap();
        let facts = catalog.resolve("litellm/claude-haiku-4-5").unwrap();
        assert_eq!(facts.breakpoints, original.breakpoints);
        assert_eq!(facts.min_cacheable, original.min_cacheable);
        assert_eq!(facts.context_window, original.context_window);
        assert_eq!(facts.prices, original.prices);
        assert_eq!(facts.assumed, Assumed::ALL);
        assert!(original.assumed_from.is_none());
    }

    #[test]
    fn ambiguous_name_resolves_to_none() {
        let table = "- id: a/twin\n  context_window: 1\n- id: b/twin\n  context_window: 2\n";
        assert_eq!(ModelCatalog::from_yaml(table).unwrap().resolve("litellm/twin"), None);
    }
}
