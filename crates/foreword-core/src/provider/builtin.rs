//! The built-in providers: a compiled-in table with source and date.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use super::{KeySource, Provider, Timeouts, WireDialect};

const BUILT_IN: &str = include_str!("../../data/providers.yaml");

/// The name of the built-in offline provider, which no configured provider can have.
pub const OFFLINE: &str = "offline";

/// A row of the table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: Arc<str>,
    dialect: WireDialect,
    base_url: String,
    api_key_env: Option<String>,
    /// Whether it hosts models itself, with its own prices and cache.
    #[serde(default)]
    hosts_models: bool,
    #[cfg_attr(not(test), expect(dead_code, reason = "documents the table; checked by a test"))]
    source: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "documents the table; checked by a test"))]
    date: String,
}

impl Row {
    fn into_provider(self) -> Provider {
        Provider {
            name: self.name,
            dialect: self.dialect,
            base_url: self.base_url,
            key: self.api_key_env.map_or(KeySource::None, KeySource::Environment),
            headers: Vec::new(),
            timeouts: Timeouts::default(),
            cache_diagnostics: false,
        }
    }
}

/// The built-in providers by name. The table is parsed once, on the first call.
///
/// ```
/// use foreword_core::provider::builtin_providers;
/// assert_eq!(builtin_providers()["ollama"].base_url, "http://127.0.0.1:11434/v1");
/// ```
#[must_use]
pub fn builtin_providers() -> BTreeMap<Arc<str>, Provider> {
    // The table is compiled in and checked by `built_in_providers_are_valid`, so parsing cannot fail here.
    let providers = ROWS.iter().cloned().map(Row::into_provider);
    providers.map(|provider| (Arc::clone(&provider.name), provider)).collect()
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| rows(BUILT_IN).unwrap_or_default());

/// Whether `provider` hosts models itself, so that the prices, limits and cache rules of the original provider do not
/// apply.
#[must_use]
pub fn hosts_models_itself(provider: &str) -> bool {
    provider == OFFLINE || ROWS.iter().any(|row| row.hosts_models && &*row.name == provider)
}

fn rows(table: &str) -> Result<Vec<Row>, serde_saphyr::Error> {
    serde_saphyr::from_str(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::ModelCatalog;
    use crate::provider::{BaseUrl, is_key_variable};

    #[test]
    fn built_in_providers_are_valid() {
        let rows = rows(BUILT_IN).unwrap();
        assert_eq!(rows.len(), builtin_providers().len(), "each name is there once");
        for row in rows {
            let url = BaseUrl::parse(&row.base_url).unwrap();
            assert_eq!(url.as_str(), row.base_url, "{} is written as it is used", row.name);
            assert!(row.source.starts_with("https://") && row.date.parse::<jiff::civil::Date>().is_ok());
            assert!(row.api_key_env.as_deref().is_none_or(is_key_variable), "{}", row.name);
            assert_eq!(row.api_key_env.is_none(), url.is_loopback(), "{}: a key for whoever bills", row.name);
            assert_ne!(&*row.name, OFFLINE);
        }
    }

    #[test]
    fn every_listed_model_has_a_provider() {
        let providers = builtin_providers();
        for facts in ModelCatalog::builtin().iter() {
            for id in facts.aliases.iter().chain([&facts.id]).filter(|id| id.provider() != OFFLINE) {
                assert!(providers.contains_key(id.provider()), "{id}");
            }
        }
    }
}
