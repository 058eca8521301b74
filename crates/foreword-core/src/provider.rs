//! Model providers: a provider is a row of data, a dialect is code in `foreword-providers`.

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

/// A model provider. Its name is the part of a model id before the `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// The name in the configuration.
    pub name: Arc<str>,
    /// The wire format.
    pub dialect: WireDialect,
    /// The base URL as official clients take it, without a trailing slash.
    pub base_url: String,
    /// The source of its API key.
    pub key: KeySource,
    /// Additional headers; their values may be secret.
    pub headers: Vec<(String, Secret)>,
    /// The timeouts.
    pub timeouts: Timeouts,
    /// Whether it can be asked to explain cache misses.
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

/// The source of a provider's API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// No key is needed.
    None,
    /// An environment variable, which the binary reads.
    Environment(String),
    /// The configuration itself.
    Written(Secret),
}

/// The timeouts of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For connecting.
    pub connect: Duration,
    /// For the first byte of a response.
    pub first_byte: Duration,
    /// Between two events of a stream.
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
    /// Wraps a secret.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret, for the code that sends it.
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
