//! What holds for the server and for the drop-in endpoints.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::api_token::ProxyMode;
use foreword_core::provider::BaseUrl;

pub use super::raw::RawClientKeys as ClientKeys;

/// What holds for the server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerConfig {
    /// Where it listens.
    pub listen: SocketAddr,
    /// What people type to reach it, if that is something else.
    pub public_url: Option<BaseUrl>,
    /// Pages that may talk to it besides its own, as browsers name them.
    pub origins: Vec<String>,
    /// Its own certificate.
    pub tls: Option<TlsFiles>,
    /// What may be asked for.
    pub limits: ServerLimits,
    /// How long turns may take to come to an end when it is told to stop.
    pub drain: Duration,
    /// How often whoever looks on at a conversation is asked whether they are still there.
    pub ping: Duration,
    /// Where answers to a family of channels go.
    pub bridges: BTreeMap<Arc<str>, Bridge>,
}

/// A certificate and its key, as files in PEM: below the workspace, or absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificates.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

/// What may be asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerLimits {
    /// The largest body, in bytes.
    pub body: usize,
    /// The most requests of a token in a minute.
    pub requests_per_minute: u64,
    /// The most turns of a token at a time.
    pub concurrent_turns: u64,
    /// The most a token may spend in a day, in US dollars.
    pub usd_per_day: Option<f64>,
    /// The most connections.
    pub connections: usize,
    /// How long the head of a request may take.
    pub header: Duration,
}

/// Where answers to a family of channels go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bridge {
    /// Where each is posted.
    pub webhook: BaseUrl,
    /// The environment variable with what it is signed with.
    pub secret_env: String,
}

/// What holds for the drop-in endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyConfig {
    /// What is done with requests whose token does not say it.
    pub mode: ProxyMode,
    /// Whose prompt it is.
    pub agent: Option<Arc<str>>,
    /// The situation of requests that don't say it.
    pub situation: Arc<str>,
    /// The provider behind `/anthropic`.
    pub anthropic: Arc<str>,
    /// The provider behind `/openai`.
    pub openai: Arc<str>,
    /// From where a provider's key counts as a token.
    pub client_keys: ClientKeys,
    /// How often a request is tried again.
    pub max_retries: u32,
    /// How long the beginning of an answer is waited for.
    pub first_byte: Duration,
    /// The longest silence in the middle of one.
    pub idle: Duration,
}
