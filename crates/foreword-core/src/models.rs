//! Models as data: how much they hold, what they cost, how they cache and count. The built-in table is
//! `data/models.yaml`; users override it in `foreword.yaml`. What is not known is absent, never guessed.

use std::sync::Arc;

use foreword_prompt::tokens::Counter;
use serde::Deserialize;

use crate::money::Money;

/// How a provider is told what to cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Breakpoints {
    /// By marks in the request.
    Explicit,
    /// By itself, from the order of the bytes.
    Automatic,
    /// By marks if there are any, else by itself.
    Either,
    /// Not at all.
    #[default]
    None,
}

/// US dollars per million tokens, as written.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PriceEntry {
    /// For input that is not cached.
    pub input: f64,
    /// For output.
    pub output: f64,
    /// For input read from the cache.
    pub cache_read: Option<f64>,
    /// For writing input to the cache for five minutes.
    pub cache_write_5m: Option<f64>,
    /// For writing input to the cache for an hour.
    pub cache_write_1h: Option<f64>,
    /// Other prices for larger requests.
    #[serde(default)]
    pub tiers: Vec<TierEntry>,
}

/// Prices for requests above a size, as written.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TierEntry {
    /// The size in tokens above which they hold.
    pub above: usize,
    /// For input that is not cached.
    pub input: f64,
    /// For output.
    pub output: f64,
    /// For input read from the cache.
    pub cache_read: Option<f64>,
    /// For writing input to the cache for five minutes.
    pub cache_write_5m: Option<f64>,
    /// For writing input to the cache for an hour.
    pub cache_write_1h: Option<f64>,
}

/// A model as written in the table or in `prices` of `foreword.yaml`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelEntry {
    /// The model, as `provider/name`.
    pub id: String,
    /// Other names of the same model.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The most tokens of prompt, history and answer together.
    pub context_window: Option<usize>,
    /// The most tokens of one answer.
    pub max_output: Option<usize>,
    /// What it costs. Left out: unknown.
    pub prices: Option<PriceEntry>,
    /// The least tokens that can be cached.
    pub min_cacheable: Option<usize>,
    /// How the provider is told what to cache.
    #[serde(default)]
    pub breakpoints: Breakpoints,
    /// How tokens are counted: `o200k_base`, `cl100k_base`, `estimate-v1`, `estimate-claude-v1`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub tokenizer: Counter,
    /// Where these facts are from.
    pub source: Option<String>,
    /// When they were true.
    pub date: Option<String>,
}

/// The price of a token in each way it can be billed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// The size of the request above which these hold.
    pub above: usize,
    /// Input that is not cached.
    pub input: Money,
    /// Output.
    pub output: Money,
    /// Input read from the cache, if there is one.
    pub cache_read: Option<Money>,
    /// Input written to the cache, if that costs extra.
    pub cache_write: Option<Money>,
    /// Input written to the cache for an hour.
    pub cache_write_1h: Option<Money>,
}

/// What is known about a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFacts {
    /// The model, as `provider/name`.
    pub id: Arc<str>,
    /// Other names.
    pub aliases: Vec<String>,
    /// What it can hold.
    pub context_window: Option<usize>,
    /// What it can answer.
    pub max_output: Option<usize>,
    /// What it costs, by size of request; `None` if nobody knows.
    pub rates: Option<Vec<Rates>>,
    /// The least that can be cached.
    pub min_cacheable: usize,
    /// How to tell it what to cache.
    pub breakpoints: Breakpoints,
    /// Who counts its tokens.
    pub counter: Counter,
    /// Where and when these facts are from.
    pub source: String,
}

/// An entry that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("model `{id}`: {reason}")]
pub struct BadModel {
    /// Which.
    pub id: String,
    /// Why.
    pub reason: &'static str,
}

/// Everything that is known about models.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCatalog {
    models: Arc<[ModelFacts]>,
}

impl ModelCatalog {
    /// The built-in table.
    #[must_use]
    pub fn builtin() -> Self {
        // A broken table is caught by a test; a program that has one knows no models rather than stopping.
        let entries: Vec<ModelEntry> =
            serde_saphyr::from_str(include_str!("../data/models.yaml")).unwrap_or_default();
        Self { models: entries.into_iter().filter_map(|entry| facts(entry).ok()).collect() }
    }

    /// The table with `entries` in front: what the user says goes before what we know.
    ///
    /// # Errors
    /// If an entry makes no sense.
    pub fn override_with(&self, entries: Vec<ModelEntry>) -> Result<Self, BadModel> {
        if entries.is_empty() {
            return Ok(self.clone());
        }
        let mut all = entries.into_iter().map(facts).collect::<Result<Vec<_>, _>>()?;
        all.extend(self.models.iter().cloned());
        Ok(Self { models: all.into() })
    }

    /// What is known about `id`: by that very name, by an alias, or without its date (`-20260115`) or `-latest`.
    ///
    /// ```
    /// use foreword_core::models::ModelCatalog;
    /// let models = ModelCatalog::builtin();
    /// let dated = models.find("anthropic/claude-sonnet-4-5-20250929").unwrap();
    /// assert_eq!(&*dated.id, "anthropic/claude-sonnet-4-5");
    /// assert!(models.find("anthropic/claude-imaginary-9").is_none());
    /// ```
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&ModelFacts> {
        let named = |name: &str| {
            self.models
                .iter()
                .find(|model| &*model.id == name || model.aliases.iter().any(|alias| alias == name))
        };
        named(id).or_else(|| named(without_date(id)?))
    }

    /// All models, the user's own first.
    #[must_use]
    pub fn models(&self) -> &[ModelFacts] {
        &self.models
    }
}

/// The family a model belongs to: within it, a prompt written for one reads the same to another.
///
/// ```
/// use foreword_core::models::family;
/// assert_eq!(family("anthropic/claude-sonnet-4-5"), "anthropic/claude");
/// assert_eq!(family("openai/gpt-5-mini"), "openai/gpt");
/// ```
#[must_use]
pub fn family(model: &str) -> &str {
    let name = model.find('/').map_or(0, |slash| slash + 1);
    let end = model[name..].find(['-', ':', '.', '@']).map_or(model.len(), |dash| name + dash);
    &model[..end]
}

fn without_date(id: &str) -> Option<&str> {
    if let Some(plain) = id.strip_suffix("-latest") {
        return Some(plain);
    }
    let (plain, date) = id.rsplit_once('-')?;
    let is_date = date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit());
    if is_date {
        return Some(plain);
    }
    // The other custom: 2026-01-15.
    let dashed = id.get(id.len().checked_sub(11)?..)?;
    let like_date = |(index, byte): (usize, u8)| {
        if matches!(index, 0 | 5 | 8) { byte == b'-' } else { byte.is_ascii_digit() }
    };
    dashed.bytes().enumerate().all(like_date).then(|| &id[..id.len() - 11])
}

fn facts(entry: ModelEntry) -> Result<ModelFacts, BadModel> {
    let bad = |reason| BadModel { id: entry.id.clone(), reason };
    if !entry.id.contains('/') {
        return Err(bad("name it as `provider/name`"));
    }
    if entry.context_window == Some(0) {
        return Err(bad("a context window of 0 holds no prompt"));
    }
    let rates = match &entry.prices {
        Some(prices) => Some(all_rates(prices).ok_or_else(|| bad("a price is not a number of dollars"))?),
        None => None,
    };
    let date = entry.date.as_deref().map(|date| format!(", {date}")).unwrap_or_default();
    Ok(ModelFacts {
        id: entry.id.as_str().into(),
        aliases: entry.aliases,
        context_window: entry.context_window,
        max_output: entry.max_output,
        rates,
        min_cacheable: entry.min_cacheable.unwrap_or(0),
        breakpoints: entry.breakpoints,
        counter: entry.tokenizer,
        source: format!("{}{date}", entry.source.as_deref().unwrap_or("foreword.yaml")),
    })
}

fn all_rates(prices: &PriceEntry) -> Option<Vec<Rates>> {
    let base = TierEntry {
        above: 0,
        input: prices.input,
        output: prices.output,
        cache_read: prices.cache_read,
        cache_write_5m: prices.cache_write_5m,
        cache_write_1h: prices.cache_write_1h,
    };
    let mut rates = std::iter::once(&base).chain(&prices.tiers).map(rates_of).collect::<Option<Vec<_>>>()?;
    rates.sort_by_key(|rates| rates.above);
    Some(rates)
}

fn rates_of(entry: &TierEntry) -> Option<Rates> {
    let optional = |price: Option<f64>| match price {
        Some(price) => Money::per_million_tokens(price).map(Some),
        None => Some(None),
    };
    Some(Rates {
        above: entry.above,
        input: Money::per_million_tokens(entry.input)?,
        output: Money::per_million_tokens(entry.output)?,
        cache_read: optional(entry.cache_read)?,
        cache_write: optional(entry.cache_write_5m)?,
        cache_write_1h: optional(entry.cache_write_1h)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_of_the_built_in_table_is_read() {
        let written =
            include_str!("../data/models.yaml").lines().filter(|line| line.starts_with("- id:")).count();
        let models = ModelCatalog::builtin();
        assert_eq!(models.models().len(), written);
        assert!(models.models().iter().all(|model| model.source.contains("2026-")));
    }

    #[test]
    fn a_users_entry_goes_before_ours_and_nonsense_is_refused() {
        let entry = |yaml: &str| serde_saphyr::from_str::<Vec<ModelEntry>>(yaml).unwrap();
        let mine = entry("- { id: offline/echo, context_window: 4000 }");
        let models = ModelCatalog::builtin().override_with(mine).unwrap();
        assert_eq!(models.find("offline/echo").unwrap().context_window, Some(4000));
        let bad =
            ModelCatalog::builtin().override_with(entry("- { id: x/y, prices: { input: -1, output: 0 } }"));
        assert_eq!(bad.unwrap_err().to_string(), "model `x/y`: a price is not a number of dollars");
    }

    #[test]
    fn a_dated_name_finds_its_model() {
        let models = ModelCatalog::builtin();
        for name in ["openai/gpt-4o-2024-08-06", "openai/gpt-4o-latest", "openai/gpt-4o"] {
            assert_eq!(&*models.find(name).unwrap().id, "openai/gpt-4o", "{name}");
        }
    }
}
