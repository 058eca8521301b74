//! Section `proxy`: the endpoints for clients of the Anthropic and OpenAI APIs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::api_token::ProxyMode;
use foreword_core::provider::WireDialect;
use foreword_prompt::diagnostic::did_you_mean;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::parse::ConfigParser;
use super::providers::Providers;
use super::{Roster, Situation};
use crate::request::DIRECT;

/// The proxy endpoints for clients of the Anthropic and OpenAI APIs.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawProxy {
    /// What to do with requests whose token sets no mode: `observe` forwards them unchanged, `prepend` inserts the
    /// agent's prompt before the client's, `replace` replaces the client's prompt. Default: `observe`.
    pub mode: Option<ProxyMode>,
    /// The agent whose prompt is used. Default: the first agent.
    #[schemars(with = "Option<String>")]
    pub agent: Option<Spanned<String>>,
    /// The situation of requests that state none. Default: `dm`.
    #[schemars(with = "Option<String>")]
    pub situation: Option<Spanned<String>>,
    /// The provider that requests to `/anthropic` go to. Default: `anthropic`.
    #[schemars(with = "Option<String>")]
    pub anthropic: Option<Spanned<String>>,
    /// The provider that requests to `/openai` go to. Default: `openai`.
    #[schemars(with = "Option<String>")]
    pub openai: Option<Spanned<String>>,
    /// Whether a program on this machine may authenticate with its provider's key instead of a token; its requests are
    /// then only observed, and billed to that key: `loopback` or `never`. Default: `loopback`.
    pub client_keys: Option<RawClientKeys>,
    /// The maximum number of retries before the first byte of an answer. Default: 2.
    #[schemars(with = "Option<u64>")]
    pub max_retries: Option<Spanned<u64>>,
    /// The timeout for the first byte of an answer in seconds, if the client states none. Default: 600.
    #[schemars(with = "Option<u64>")]
    pub first_byte_seconds: Option<Spanned<u64>>,
    /// The idle timeout while streaming an answer, in seconds. Default: 600.
    #[schemars(with = "Option<u64>")]
    pub idle_seconds: Option<Spanned<u64>>,
}

/// Where clients may authenticate with a provider's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawClientKeys {
    /// From this machine.
    #[default]
    Loopback,
    /// Nowhere.
    Never,
}

/// Configuration of the proxy endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyConfig {
    /// The mode of requests whose token sets none.
    pub mode: ProxyMode,
    /// The agent whose prompt is used. Default: the first agent.
    pub agent: Option<Arc<str>>,
    /// The situation of requests that state none.
    pub situation: Arc<str>,
    /// The provider behind `/anthropic`.
    pub anthropic: Arc<str>,
    /// The provider behind `/openai`.
    pub openai: Arc<str>,
    /// Where clients may authenticate with a provider's key.
    pub client_keys: RawClientKeys,
    /// The maximum number of retries.
    pub max_retries: u32,
    /// The timeout for the first byte of an answer.
    pub first_byte: Duration,
    /// The idle timeout while streaming an answer.
    pub idle: Duration,
}

impl ConfigParser<'_> {
    /// The proxy endpoints. `proxy_agent` checks the agent once all agents are known.
    pub(super) fn proxy(
        &mut self,
        raw: &RawProxy,
        providers: &Providers,
        situations: &BTreeMap<Arc<str>, Situation>,
    ) -> ProxyConfig {
        let situation = raw.situation.as_ref().map(|written| {
            if !situations.contains_key(written.value.as_str()) {
                let message =
                    format!("`proxy.situation`: there is no situation `{}`", written.value.escape_debug());
                let help = match did_you_mean(&written.value, situations.keys().map(|name| &**name)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "name one of `situations`".to_owned(),
                };
                self.refuse(written.defined, message, help);
            }
            written.value.as_str().into()
        });
        let anthropic = self.upstream(raw.anthropic.as_ref(), WireDialect::Anthropic, providers);
        let openai = self.upstream(raw.openai.as_ref(), WireDialect::OpenAi, providers);
        let mut seconds = |written: Option<&Spanned<u64>>, key| {
            Duration::from_secs(self.within(written, key, 1..=3_600, 600))
        };
        let first_byte = seconds(raw.first_byte_seconds.as_ref(), "proxy.first_byte_seconds");
        let idle = seconds(raw.idle_seconds.as_ref(), "proxy.idle_seconds");
        ProxyConfig {
            mode: raw.mode.unwrap_or(ProxyMode::Observe),
            agent: raw.agent.as_ref().map(|agent| agent.value.as_str().into()),
            situation: situation.unwrap_or_else(|| DIRECT.into()),
            anthropic,
            openai,
            client_keys: raw.client_keys.unwrap_or_default(),
            max_retries: u32::try_from(self.within(raw.max_retries.as_ref(), "proxy.max_retries", 0..=10, 2))
                .unwrap_or(2),
            first_byte,
            idle,
        }
    }

    fn upstream(
        &mut self,
        written: Option<&Spanned<String>>,
        dialect: WireDialect,
        providers: &Providers,
    ) -> Arc<str> {
        let key = match dialect {
            WireDialect::Anthropic => "anthropic",
            WireDialect::OpenAi => "openai",
        };
        let Some(written) = written else { return key.into() };
        match providers.get(written.value.as_str()) {
            None => {
                let message =
                    format!("`proxy.{key}`: there is no provider `{}`", written.value.escape_debug());
                let help = match did_you_mean(&written.value, providers.keys().map(|name| &**name)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "configure it in `providers`".to_owned(),
                };
                self.refuse(written.defined, message, help);
            }
            Some(provider) if provider.dialect != dialect => {
                let message = format!("`proxy.{key}`: provider `{}` has another dialect", provider.name);
                let help = format!("name a provider whose `dialect` is `{key}`");
                self.refuse(written.defined, message, help);
            }
            Some(_) => {}
        }
        written.value.as_str().into()
    }

    /// Checks that the agent of the proxy endpoints exists.
    pub(super) fn proxy_agent(&mut self, raw: &RawProxy, roster: &Roster) {
        let Some(agent) = raw.agent.as_ref().filter(|agent| roster.find(&agent.value).is_none()) else {
            return;
        };
        let message = format!("`proxy.agent`: there is no agent `{}`", agent.value.escape_debug());
        self.refuse(agent.defined, message, format!("use one of {}", roster.names()));
    }
}
