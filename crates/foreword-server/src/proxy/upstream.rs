//! The configured providers of the drop-in endpoints: address, credentials and connection pool. Created once per
//! configuration.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use foreword_core::provider::{KeySource, Provider, WireDialect};
use foreword_tls::TlsError;
use foreword_workspace::config::Config;
use http::{HeaderName, HeaderValue, Uri, header};
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;

use super::key_mask::ProviderKeys;
use crate::app::Secrets;
use crate::problem::Problem;

const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) type HttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A provider, ready for requests.
pub(crate) struct Upstream {
    pub(crate) name: Arc<str>,
    pub(crate) client: HttpClient,
    /// The base URL including `/v1`.
    base: String,
    key: Key,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// The keys of all providers, which are masked in responses.
    pub(crate) keys: ProviderKeys,
}

enum Key {
    None,
    Ready(HeaderName, HeaderValue),
    /// The environment variable of the key is not set.
    Missing(String),
    Unusable,
}

impl Upstream {
    /// The URI of a request.
    pub(crate) fn uri(&self, rest: &str, query: Option<&str>) -> Result<Uri, Problem> {
        let uri = match query {
            Some(query) => format!("{}/{rest}?{query}", self.base),
            None => format!("{}/{rest}", self.base),
        };
        uri.parse().map_err(|_| {
            let detail = format!("`providers.{}.base_url` is not a valid URL", self.name);
            not_configured(detail, "write it as `https://api.example.com/v1`")
        })
    }

    /// The headers with the owner's credentials.
    pub(crate) fn credentials(&self) -> Result<impl Iterator<Item = (&HeaderName, &HeaderValue)>, Problem> {
        let key = match &self.key {
            Key::None => None,
            Key::Ready(name, value) => Some((name, value)),
            Key::Missing(variable) => {
                let detail = format!("there is no key for the provider `{}`", self.name);
                let help = format!("set `{variable}` in the environment of `foreword serve`");
                return Err(not_configured(detail, help));
            }
            Key::Unusable => {
                let detail = format!(
                    "the key of the provider `{}` contains characters that are not allowed in a header",
                    self.name
                );
                return Err(not_configured(detail, "copy it again"));
            }
        };
        // Configured headers take precedence over the default key header.
        let key = key.filter(|(name, _)| !self.headers.iter().any(|(other, _)| other == *name));
        Ok(key.into_iter().chain(self.headers.iter().map(|(name, value)| (name, value))))
    }
}

fn not_configured(cause: String, help: impl Into<String>) -> Problem {
    let public = "the provider is not configured: the server's owner can see the reason";
    Problem::new(http::StatusCode::INTERNAL_SERVER_ERROR, "provider_not_configured", public)
        .cause(cause, Some(help.into()))
}

/// The providers of the drop-in endpoints.
#[derive(Default)]
pub(crate) struct Upstreams(Mutex<UpstreamCache>);

#[derive(Default)]
struct UpstreamCache {
    /// The configuration they were created from.
    config: Option<Arc<Config>>,
    anthropic: Option<Arc<Upstream>>,
    openai: Option<Arc<Upstream>>,
    /// By connect timeout and TLS. Pools survive a change of the configuration.
    clients: HashMap<(Duration, bool), HttpClient>,
}

impl Upstreams {
    /// The provider of an endpoint.
    pub(crate) fn find(
        &self,
        dialect: WireDialect,
        config: &Arc<Config>,
        secrets: &dyn Secrets,
    ) -> Result<Arc<Upstream>, Problem> {
        let mut cache = self.0.lock();
        if !cache.config.as_ref().is_some_and(|known| Arc::ptr_eq(known, config)) {
            (cache.anthropic, cache.openai) = (None, None);
            cache.config = Some(Arc::clone(config));
        }
        let (known, name) = match dialect {
            WireDialect::Anthropic => (&cache.anthropic, &config.proxy.anthropic),
            WireDialect::OpenAi => (&cache.openai, &config.proxy.openai),
        };
        if let Some(known) = known {
            return Ok(Arc::clone(known));
        }
        let Some(provider) = config.providers.get(name) else {
            let help = format!("configure it in `providers.{name}` of foreword.yaml");
            return Err(not_configured(format!("there is no provider `{name}`"), help));
        };
        let mut made = make(provider, &mut cache.clients, secrets)?;
        made.keys = ProviderKeys::of(config, secrets);
        let made = Arc::new(made);
        match dialect {
            WireDialect::Anthropic => cache.anthropic = Some(Arc::clone(&made)),
            WireDialect::OpenAi => cache.openai = Some(Arc::clone(&made)),
        }
        Ok(made)
    }
}

fn make(
    provider: &Provider,
    clients: &mut HashMap<(Duration, bool), HttpClient>,
    secrets: &dyn Secrets,
) -> Result<Upstream, Problem> {
    let mut base = provider.base_url.trim().trim_end_matches('/').to_owned();
    // Official clients add `/v1`; a configured one is kept.
    if provider.dialect == WireDialect::Anthropic && !base.ends_with("/v1") {
        base.push_str("/v1");
    }
    let encrypts = base.starts_with("https://");
    let kind = (provider.timeouts.connect, encrypts);
    let client = match clients.get(&kind) {
        Some(client) => client.clone(),
        None => clients.entry(kind).or_insert(client(kind.0, &base)?).clone(),
    };
    let headers = provider.headers.iter().filter_map(|(name, value)| {
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, secret_value(value.reveal())?))
    });
    Ok(Upstream {
        name: Arc::clone(&provider.name),
        client,
        base,
        key: key(provider, secrets),
        headers: headers.collect(),
        keys: ProviderKeys::default(),
    })
}

fn key(provider: &Provider, secrets: &dyn Secrets) -> Key {
    let secret = match &provider.key {
        KeySource::None => return Key::None,
        KeySource::Written(secret) => secret.clone(),
        KeySource::Environment(variable) => match secrets.variable(variable) {
            Some(secret) => secret,
            None => return Key::Missing(variable.clone()),
        },
    };
    let (name, value) = match provider.dialect {
        WireDialect::Anthropic => (HeaderName::from_static("x-api-key"), secret.reveal().trim().to_owned()),
        WireDialect::OpenAi => (header::AUTHORIZATION, format!("Bearer {}", secret.reveal().trim())),
    };
    secret_value(&value).map_or(Key::Unusable, |value| Key::Ready(name, value))
}

fn secret_value(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// A client without redirects, which could leak the key, and without a proxy.
fn client(connect: Duration, url: &str) -> Result<HttpClient, Problem> {
    let tls = foreword_tls::client_config_for(url).map_err(|error| match error {
        TlsError::NoRootCertificates => {
            let help = "install the package `ca-certificates`";
            not_configured("there are no root certificates on this machine".to_owned(), help)
        }
        TlsError::Unsupported(_) => {
            not_configured("no TLS protocol version is available".to_owned(), "check this build's TLS")
        }
    })?;
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(connect));
    let connector =
        HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(http);
    Ok(Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .build(connector))
}
