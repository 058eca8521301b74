//! Where the server listens, and what may be asked of it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::api_token::ProxyMode;
use foreword_core::budget::HIGHEST_BUDGET;
use foreword_core::provider::{BaseUrl, Secret, WireDialect, is_key_variable};
use foreword_prompt::diagnostic::did_you_mean;
use serde_saphyr::Spanned;

use super::Reader;
use super::providers::Providers;
use crate::config::raw::{RawBridge, RawProxy, RawServer, RawServerLimits, RawTls};
use crate::config::server::{Bridge, ProxyConfig, ServerConfig, ServerLimits, TlsFiles};
use crate::config::{Roster, Situation};
use crate::request::DIRECT;

/// Where it listens if nobody says it.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7777);
const MIB: u64 = 1024 * 1024;

impl Reader<'_> {
    pub(super) fn server(&mut self, raw: &RawServer) -> ServerConfig {
        let listen = self.listen(raw.listen.as_ref());
        let public_url = raw.public_url.as_ref().and_then(|url| self.url(url, "server.public_url"));
        let origins = raw.origins.iter().filter_map(|written| self.origin(written)).collect();
        let config = ServerConfig {
            listen,
            public_url,
            origins,
            tls: raw.tls.as_ref().map(tls),
            limits: self.server_limits(&raw.limits),
            drain: Duration::from_secs(self.within(
                raw.drain_seconds.as_ref(),
                "server.drain_seconds",
                0..=3_600,
                20,
            )),
            ping: Duration::from_secs(self.within(
                raw.ping_seconds.as_ref(),
                "server.ping_seconds",
                1..=3_600,
                20,
            )),
            bridges: self.bridges(&raw.channels.0),
        };
        if let Some(written) = raw.listen.as_ref().filter(|_| !listen.ip().is_loopback() && raw.tls.is_none())
        {
            let message = format!("`server.listen` is {listen}, which others can reach without encryption");
            let help = "put a reverse proxy with TLS in front, or set `server.tls`".to_owned();
            self.note(written.defined, message, help);
        }
        config
    }

    fn listen(&mut self, written: Option<&Spanned<String>>) -> SocketAddr {
        let Some(written) = written else { return LISTEN };
        written.value.trim().parse().unwrap_or_else(|_| {
            let message =
                format!("`server.listen` is `{}`, which is no address", written.value.escape_debug());
            let help = "write an IP address and a port, such as `127.0.0.1:7777` or `[::1]:7777`";
            self.refuse(written.defined, message, help.to_owned());
            LISTEN
        })
    }

    fn url(&mut self, written: &Spanned<String>, key: &str) -> Option<BaseUrl> {
        match BaseUrl::parse(written.value.trim()) {
            Ok(url) => Some(url),
            Err(bad) => {
                self.refuse(written.defined, format!("`{key}` can't be used: {bad}"), bad.help().to_owned());
                None
            }
        }
    }

    /// What a browser calls a page: scheme, host and port, and nothing behind.
    fn origin(&mut self, written: &Spanned<String>) -> Option<String> {
        let url = self.url(written, "server.origins")?;
        let is_bare = url.as_str().split_once("://").is_some_and(|(_, rest)| !rest.contains('/'));
        if is_bare {
            return Some(url.as_str().to_ascii_lowercase());
        }
        let message = format!("`{}` is more than an origin", written.value.escape_debug());
        self.refuse(written.defined, message, "leave out the path: `https://desk.example.org`".to_owned());
        None
    }

    fn server_limits(&mut self, raw: &RawServerLimits) -> ServerLimits {
        let mut number = |written: Option<&Spanned<u64>>, name: &str, most: u64, default: u64| {
            self.within(written, &format!("server.limits.{name}"), 1..=most, default)
        };
        let body = number(raw.body_mb.as_ref(), "body_mb", 1_024, 32) * MIB;
        let requests_per_minute =
            number(raw.requests_per_minute.as_ref(), "requests_per_minute", 100_000_000, 6_000);
        let concurrent_turns = number(raw.concurrent_turns.as_ref(), "concurrent_turns", 100_000, 64);
        let connections = number(raw.connections.as_ref(), "connections", 1_000_000, 10_000);
        let header = Duration::from_secs(number(raw.header_seconds.as_ref(), "header_seconds", 600, 10));
        ServerLimits {
            body: usize::try_from(body).unwrap_or(usize::MAX),
            requests_per_minute,
            concurrent_turns,
            usd_per_day: self.usd_per_day(raw.usd_per_day.as_ref()),
            connections: usize::try_from(connections).unwrap_or(usize::MAX),
            header,
        }
    }

    fn usd_per_day(&mut self, written: Option<&Spanned<f64>>) -> Option<f64> {
        let written = written?;
        if written.value > 0.0 && written.value <= HIGHEST_BUDGET {
            return Some(written.value);
        }
        let message = format!("`server.limits.usd_per_day` is {}", written.value);
        let help = format!("use an amount above 0, up to {HIGHEST_BUDGET}, or leave it out");
        self.refuse(written.defined, message, help);
        None
    }

    fn bridges(&mut self, raw: &[(Spanned<String>, RawBridge)]) -> BTreeMap<Arc<str>, Bridge> {
        raw.iter().filter_map(|(family, bridge)| self.bridge(family, bridge)).collect()
    }

    fn bridge(&mut self, family: &Spanned<String>, raw: &RawBridge) -> Option<(Arc<str>, Bridge)> {
        let sound = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
        let is_family = !family.value.is_empty() && family.value.chars().all(sound);
        if !is_family {
            let message = format!("`server.channels`: `{}` is no family", family.value.escape_debug());
            let help = "use small letters, digits, `_` and `-`: it stands in front of the `:` of a channel";
            self.refuse(family.defined, message, help.to_owned());
        }
        let key = format!("server.channels.{}", family.value.escape_debug());
        let webhook = self.url(&raw.webhook, &format!("{key}.webhook"));
        let secret_env = self.secret_variable(&raw.secret_env, &key);
        is_family.then_some(())?;
        Some((family.value.as_str().into(), Bridge { webhook: webhook?, secret_env: secret_env? }))
    }

    fn secret_variable(&mut self, name: &Spanned<Secret>, key: &str) -> Option<String> {
        if is_key_variable(name.value.reveal()) {
            return Some(name.value.reveal().to_owned());
        }
        let message = format!("`{key}.secret_env` is no name of an environment variable");
        let help =
            "write the variable's name in capitals, such as `SIGNAL_BRIDGE_SECRET`, and not the secret";
        self.refuse(name.defined, message, help.to_owned());
        None
    }

    /// The drop-in endpoints. Agents are checked when all of them are known.
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
                    None => "say where it is in `providers`".to_owned(),
                };
                self.refuse(written.defined, message, help);
            }
            Some(provider) if provider.dialect != dialect => {
                let message = format!("`proxy.{key}`: provider `{}` speaks another dialect", provider.name);
                let help = format!("name a provider whose `dialect` is `{key}`");
                self.refuse(written.defined, message, help);
            }
            Some(_) => {}
        }
        written.value.as_str().into()
    }

    /// Looks whether the agent is there whose prompt the drop-in endpoints use.
    pub(super) fn proxy_agent(&mut self, raw: &RawProxy, roster: &Roster) {
        let Some(agent) = raw.agent.as_ref().filter(|agent| roster.find(&agent.value).is_none()) else {
            return;
        };
        let message = format!("`proxy.agent`: there is no agent `{}`", agent.value.escape_debug());
        self.refuse(agent.defined, message, format!("use one of {}", roster.names()));
    }
}

fn tls(raw: &RawTls) -> TlsFiles {
    TlsFiles { certificate: raw.certificate.value.clone(), key: raw.key.value.clone() }
}
