//! Section `server`: addresses, limits, TLS and bridges.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::budget::MAX_BUDGET_USD;
use foreword_core::provider::{BaseUrl, Secret, is_key_variable};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::parse::ConfigParser;
use super::raw::Named;

/// The HTTP and WebSocket server of `foreword serve`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawServer {
    /// The listen address. Default: `127.0.0.1:7777`. A loopback address is reachable from this machine only.
    #[schemars(with = "Option<String>")]
    pub listen: Option<Spanned<String>>,
    /// The public URL behind a reverse proxy. Its origin is allowed to connect.
    #[schemars(with = "Option<String>")]
    pub public_url: Option<Spanned<String>>,
    /// Additional allowed web origins, such as `https://desk.example.org`. Default: none.
    #[schemars(with = "Vec<String>")]
    pub origins: Vec<Spanned<String>>,
    /// A TLS certificate. Default: none; the reverse proxy terminates TLS.
    pub tls: Option<RawTls>,
    /// Limits per token and for the whole server.
    pub limits: RawServerLimits,
    /// How long a graceful shutdown waits for running turns, in seconds. Default: 20.
    #[schemars(with = "Option<u64>")]
    pub drain_seconds: Option<Spanned<u64>>,
    /// The interval of WebSocket pings, in seconds. Default: 20. A client that does not answer for three intervals is
    /// disconnected.
    #[schemars(with = "Option<u64>")]
    pub ping_seconds: Option<Spanned<u64>>,
    /// Bridges to messengers by channel family: where the agent's answers are sent.
    #[schemars(with = "std::collections::BTreeMap<String, RawBridge>")]
    pub channels: Named<RawBridge>,
}

/// A TLS certificate and its key.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawTls {
    /// The PEM file with the certificate chain, the server's own certificate first.
    #[schemars(with = "String")]
    pub certificate: Spanned<String>,
    /// The PEM file with the private key.
    #[schemars(with = "String")]
    pub key: Spanned<String>,
}

/// Limits per token and for the whole server.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawServerLimits {
    /// The maximum size of a request body, in MiB. Default: 32.
    #[schemars(with = "Option<u64>")]
    pub body_mb: Option<Spanned<u64>>,
    /// The maximum number of requests per token and minute. Default: 6,000.
    #[schemars(with = "Option<u64>")]
    pub requests_per_minute: Option<Spanned<u64>>,
    /// The maximum number of concurrent turns and model calls per token. Default: 64.
    #[schemars(with = "Option<u64>")]
    pub concurrent_turns: Option<Spanned<u64>>,
    /// The maximum spending per token and day, in US dollars. Default: no limit.
    #[schemars(with = "Option<f64>")]
    pub usd_per_day: Option<Spanned<f64>>,
    /// The maximum number of connections. Default: 10,000.
    #[schemars(with = "Option<u64>")]
    pub connections: Option<Spanned<u64>>,
    /// The timeout for the head of a request, in seconds. Default: 10. The body has ten times as long, with this as its
    /// idle timeout.
    #[schemars(with = "Option<u64>")]
    pub header_seconds: Option<Spanned<u64>>,
}

/// The bridge of a channel family.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawBridge {
    /// The bridge's webhook URL: each answer is posted there.
    #[schemars(with = "String")]
    pub webhook: Spanned<String>,
    /// The environment variable with the secret that signs each answer.
    #[schemars(with = "String")]
    pub secret_env: Spanned<Secret>,
}

/// Configuration of the server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerConfig {
    /// The listen address.
    pub listen: SocketAddr,
    /// The public URL, if it differs.
    pub public_url: Option<BaseUrl>,
    /// Additional allowed web origins.
    pub origins: Vec<String>,
    /// The TLS certificate.
    pub tls: Option<TlsFiles>,
    /// Limits per token and for the whole server.
    pub limits: ServerLimits,
    /// How long a graceful shutdown waits for running turns.
    pub drain: Duration,
    /// The interval of WebSocket pings.
    pub ping: Duration,
    /// The bridges by channel family.
    pub bridges: BTreeMap<Arc<str>, Bridge>,
}

/// A certificate and its key as PEM files: relative to the workspace, or absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate chain.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

/// Limits per token and for the whole server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerLimits {
    /// The maximum size of a request body, in bytes.
    pub body: usize,
    /// The maximum number of requests per token and minute.
    pub requests_per_minute: u64,
    /// The maximum number of concurrent turns per token.
    pub concurrent_turns: u64,
    /// The maximum spending per token and day, in US dollars.
    pub usd_per_day: Option<f64>,
    /// The maximum number of connections.
    pub connections: usize,
    /// The timeout for the head of a request.
    pub header: Duration,
}

/// The bridge of a channel family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bridge {
    /// The URL that answers are posted to.
    pub webhook: BaseUrl,
    /// The environment variable with the signing secret.
    pub secret_env: String,
}

/// The default listen address.
const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7777);
const MIB: u64 = 1024 * 1024;

impl ConfigParser<'_> {
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
        let Some(written) = written else { return DEFAULT_LISTEN };
        written.value.trim().parse().unwrap_or_else(|_| {
            let message = format!(
                "`server.listen` is `{}`, which is not a valid address",
                written.value.escape_debug()
            );
            let help = "write an IP address and a port, such as `127.0.0.1:7777` or `[::1]:7777`";
            self.refuse(written.defined, message, help.to_owned());
            DEFAULT_LISTEN
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

    /// A web origin: scheme, host and port.
    fn origin(&mut self, written: &Spanned<String>) -> Option<String> {
        let url = self.url(written, "server.origins")?;
        let is_bare = url.as_str().split_once("://").is_some_and(|(_, rest)| !rest.contains('/'));
        if is_bare {
            return Some(url.as_str().to_ascii_lowercase());
        }
        let message = format!("`{}` is not a web origin", written.value.escape_debug());
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
        if written.value > 0.0 && written.value <= MAX_BUDGET_USD {
            return Some(written.value);
        }
        let message = format!("`server.limits.usd_per_day` is {}", written.value);
        let help = format!("use an amount above 0, up to {MAX_BUDGET_USD}, or leave it out");
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
            let message =
                format!("`server.channels`: `{}` is not a valid channel family", family.value.escape_debug());
            let help =
                "use lower-case letters, digits, `_` and `-`; it is the part of a channel before the `:`";
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
        let message = format!("`{key}.secret_env` is not a valid environment variable name");
        let help =
            "write the variable's name in capitals, such as `SIGNAL_BRIDGE_SECRET`, and not the secret";
        self.refuse(name.defined, message, help.to_owned());
        None
    }
}

fn tls(raw: &RawTls) -> TlsFiles {
    TlsFiles { certificate: raw.certificate.value.clone(), key: raw.key.value.clone() }
}
