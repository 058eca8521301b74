//! The HTTP transport: sends a request over HTTP/1.1 and streams the answer. Reads neither the environment nor the
//! clock; the caller passes the key and a clock.

mod call;
mod client;
mod failure;

use std::fmt;
use std::sync::Arc;

use foreword_core::model::{Model, ModelError, ModelRequest, ModelStream};
use foreword_core::provider::{Provider, Secret, WireDialect};
use foreword_core::timestamp::Timestamp;
use futures_util::stream;
use reqwest::Url;

use crate::dialect::openai_chat::OutputLimit;
use crate::dialect::{anthropic, openai_chat};
use call::Call;
use failure::Reporter;

/// Returns the current time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A model behind an HTTP API. Cheap to clone; clones share a connection pool.
#[derive(Clone)]
pub struct HttpModel {
    client: reqwest::Client,
    url: Url,
    provider: Arc<Provider>,
    reporter: Reporter,
}

impl HttpModel {
    /// A client for `provider`, with its key if it needs one. Does not connect yet.
    ///
    /// # Errors
    /// [`foreword_core::model::ErrorKind::NotConfigured`] if the address or a header can't be used, or if the machine
    /// trusts no certificates.
    pub fn new(provider: Provider, key: Option<Secret>, clock: Clock) -> Result<Self, ModelError> {
        let url = client::endpoint(&provider)?;
        let client = client::build(&provider, key.as_ref(), &url)?;
        let reporter = Reporter::new(&provider, key, &url, clock);
        Ok(Self { client, url, provider: Arc::new(provider), reporter })
    }

    /// The provider.
    #[must_use]
    pub fn provider(&self) -> &Provider {
        &self.provider
    }

    fn encode(&self, request: &ModelRequest) -> Vec<u8> {
        match self.provider.dialect {
            WireDialect::Anthropic => anthropic::encode(request),
            WireDialect::OpenAi => openai_chat::encode(request, output_limit(&self.url)),
        }
    }
}

impl Model for HttpModel {
    fn call(&self, request: Arc<ModelRequest>) -> ModelStream {
        Box::pin(stream::unfold(Call::new(self.clone(), request), Call::next))
    }
}

impl fmt::Debug for HttpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpModel").field("provider", &self.provider).finish_non_exhaustive()
    }
}

/// Only OpenAI's own models require the newer field, and other servers may not know it.
fn output_limit(url: &Url) -> OutputLimit {
    let host = url.host_str().unwrap_or_default();
    if ["openai.com", "openai.azure.com"].iter().any(|own| host == *own || host.ends_with(&format!(".{own}")))
    {
        OutputLimit::MaxCompletionTokens
    } else {
        OutputLimit::MaxTokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_completion_tokens_is_sent_to_openai_only() {
        for (url, expected) in [
            ("https://api.openai.com/v1", OutputLimit::MaxCompletionTokens),
            ("https://eu.openai.azure.com/openai/v1", OutputLimit::MaxCompletionTokens),
            ("https://notopenai.com/v1", OutputLimit::MaxTokens),
            ("http://127.0.0.1:11434/v1", OutputLimit::MaxTokens),
        ] {
            assert_eq!(output_limit(&url.parse().unwrap()), expected, "{url}");
        }
    }
}
