//! Who serves models, and how to talk to them: a provider is a row of data, a dialect is code in `foreword-providers`.

mod base_url;
mod builtin;
mod header;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use base_url::{BadBaseUrl, BaseUrl};
pub use builtin::{OFFLINE, builtin_providers, hosts_models_itself};
pub use header::{is_header_name, is_header_value, is_key_variable};

/// A provider of models. The name in front of the `/` of a model's id leads here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// Its name in the configuration.
    pub name: Arc<str>,
    /// What it speaks.
    pub dialect: WireDialect,
    /// Where it is, without a slash at the end: what an official client takes as its base URL.
    pub base_url: String,
    /// Where its key is from.
    pub key: KeySource,
    /// Headers to send besides; their values may be secret.
    pub headers: Vec<(String, Secret)>,
    /// How long to wait for it.
    pub timeouts: Timeouts,
    /// Whether it can be asked why its cache was not read.
    pub cache_diagnostics: bool,
}

/// What a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum WireDialect {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's chat completions, which most local servers speak too.
    OpenAi,
}

/// Where a provider's key is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// It needs none.
    None,
    /// A variable of the environment, which the binary reads.
    Environment(String),
    /// The configuration itself.
    Written(Secret),
}

/// How long to wait for a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For the first byte of an answer.
    pub first_byte: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(60),
        }
    }
}

/// A text that is never shown: not in a log, not in an error, not in a debugger's output.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// A text to keep to oneself.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the one place that sends it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
