//! Sections `server` and `proxy` as people write them.

use foreword_core::api_token::ProxyMode;
use foreword_core::provider::Secret;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::Named;

/// The HTTP and WebSocket server of `foreword serve`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawServer {
    /// Where to listen. Default: `127.0.0.1:7777`. Only this machine can reach a loopback address.
    #[schemars(with = "Option<String>")]
    pub listen: Option<Spanned<String>>,
    /// What people type to reach it, if a reverse proxy stands in front: its pages may then talk to it.
    #[schemars(with = "Option<String>")]
    pub public_url: Option<Spanned<String>>,
    /// Other pages that may talk to it, such as `https://desk.example.org`. Default: none.
    #[schemars(with = "Vec<String>")]
    pub origins: Vec<Spanned<String>>,
    /// A certificate of its own. Default: none; TLS is left to the reverse proxy.
    pub tls: Option<RawTls>,
    /// What one token, and everybody together, may ask for.
    pub limits: RawServerLimits,
    /// How long a server that is told to stop lets turns come to an end, in seconds. Default: 20.
    #[schemars(with = "Option<u64>")]
    pub drain_seconds: Option<Spanned<u64>>,
    /// How often whoever looks on at a conversation is asked whether they are still there, in seconds. Default: 20. One who
    /// is silent three times as long is let go.
    #[schemars(with = "Option<u64>")]
    pub ping_seconds: Option<Spanned<u64>>,
    /// Bridges to messengers, by family: where the agent's answers go.
    #[schemars(with = "std::collections::BTreeMap<String, RawBridge>")]
    pub channels: Named<RawBridge>,
}

/// A certificate of the server's own.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawTls {
    /// The file with the certificates, in PEM, the server's own first.
    #[schemars(with = "String")]
    pub certificate: Spanned<String>,
    /// The file with the private key, in PEM.
    #[schemars(with = "String")]
    pub key: Spanned<String>,
}

/// What may be asked for.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawServerLimits {
    /// The largest body of a request, in MiB. Default: 32.
    #[schemars(with = "Option<u64>")]
    pub body_mb: Option<Spanned<u64>>,
    /// How many requests a token may make in a minute. Default: 6,000.
    #[schemars(with = "Option<u64>")]
    pub requests_per_minute: Option<Spanned<u64>>,
    /// How many turns and calls of models may be under way for a token. Default: 64.
    #[schemars(with = "Option<u64>")]
    pub concurrent_turns: Option<Spanned<u64>>,
    /// How many US dollars a token may spend in a day. Default: no limit.
    #[schemars(with = "Option<f64>")]
    pub usd_per_day: Option<Spanned<f64>>,
    /// How many connections there may be. Default: 10,000.
    #[schemars(with = "Option<u64>")]
    pub connections: Option<Spanned<u64>>,
    /// How long a client may take to send the head of a request, in seconds. Default: 10. The body has ten times that,
    /// and may not stand still for longer than this.
    #[schemars(with = "Option<u64>")]
    pub header_seconds: Option<Spanned<u64>>,
}

/// Where answers to a family of channels go.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawBridge {
    /// The bridge's address: each answer is posted there.
    #[schemars(with = "String")]
    pub webhook: Spanned<String>,
    /// The environment variable with the secret that each answer is signed with.
    #[schemars(with = "String")]
    pub secret_env: Spanned<Secret>,
}

/// The drop-in endpoints.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawProxy {
    /// What is done with requests whose token does not say it: `observe` passes them on untouched, `prepend` puts the
    /// agent's prompt before the client's, `replace` in its place. Default: `observe`.
    pub mode: Option<ProxyMode>,
    /// Whose prompt it is, if not the first agent's.
    #[schemars(with = "Option<String>")]
    pub agent: Option<Spanned<String>>,
    /// The situation of requests that do not say it. Default: `dm`.
    #[schemars(with = "Option<String>")]
    pub situation: Option<Spanned<String>>,
    /// The provider that requests to `/anthropic` go to. Default: `anthropic`.
    #[schemars(with = "Option<String>")]
    pub anthropic: Option<Spanned<String>>,
    /// The provider that requests to `/openai` go to. Default: `openai`.
    #[schemars(with = "Option<String>")]
    pub openai: Option<Spanned<String>>,
    /// Whether a program on this machine may come with its provider's key instead of a token; its requests are then only
    /// observed, and paid with that key: `loopback` or `never`. Default: `loopback`.
    pub client_keys: Option<RawClientKeys>,
    /// How often a request is tried again before anything of an answer has come. Default: 2.
    #[schemars(with = "Option<u64>")]
    pub max_retries: Option<Spanned<u64>>,
    /// How long the beginning of an answer is waited for, if the client does not say it. Default: 600.
    #[schemars(with = "Option<u64>")]
    pub first_byte_seconds: Option<Spanned<u64>>,
    /// The longest silence in the middle of an answer. Default: 600.
    #[schemars(with = "Option<u64>")]
    pub idle_seconds: Option<Spanned<u64>>,
}

/// From where a provider's key counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawClientKeys {
    /// From this machine.
    #[default]
    Loopback,
    /// From nowhere.
    Never,
}
