//! A provider as people write it. Keys and header values are [`Secret`]s from the first moment.

use std::collections::BTreeMap;

use foreword_core::provider::{Secret, WireDialect};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::Named;

/// A provider of models.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawProvider {
    /// What it speaks: `anthropic` (Messages) or `openai` (chat completions). Default: as built in, else `openai`.
    pub dialect: Option<WireDialect>,
    /// Where it is: what its own client takes as base URL. Needed for a provider that is not built in.
    #[schemars(with = "Option<String>")]
    pub base_url: Option<Spanned<String>>,
    /// The environment variable with the key.
    #[schemars(with = "Option<String>")]
    pub api_key_env: Option<Spanned<Secret>>,
    /// The key itself. Prefer `api_key_env`: an agent that may read files may read this one.
    #[schemars(with = "Option<String>")]
    pub api_key: Option<Spanned<Secret>>,
    /// Headers to send besides, by name.
    #[schemars(with = "BTreeMap<String, String>")]
    pub headers: Named<Spanned<Secret>>,
    /// How long to wait for it.
    pub timeouts: RawTimeouts,
    /// Whether to ask it why its prompt cache was not read, which Anthropic's own service can say. What it says stands
    /// beside Foreword's own reason in `foreword cache`. Default: false.
    pub cache_diagnostics: Option<bool>,
}

/// How long to wait for a provider.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawTimeouts {
    /// For a connection, in milliseconds. Default: 10,000.
    #[schemars(with = "Option<u64>")]
    pub connect_ms: Option<Spanned<u64>>,
    /// For the first byte of an answer, in milliseconds. Default: 120,000.
    #[schemars(with = "Option<u64>")]
    pub first_byte_ms: Option<Spanned<u64>>,
    /// Between two pieces of an answer, in milliseconds. Default: 60,000.
    #[schemars(with = "Option<u64>")]
    pub idle_ms: Option<Spanned<u64>>,
}
