//! The configured providers of the drop-in endpoints: address, credentials and connection pool. Created once per
//! configuration.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use foreword_core::provider::{KeySource, Provider, WireDialect};
use foreword_tls::TlsError;
use foreword_workspace::config::Config;
use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Uri, header};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use parking_lot::Mutex;

use super::key_mask::ProviderKeys;
use super::upstream_pool::UpstreamPool;
use crate::app::Secrets;
use crate::problem::Problem;

/// A provider, ready for requests.
pub(crate) struct Upstream {
    pub(crate) name: Arc<str>,
    pub(crate) pool: Arc<UpstreamPool>,
    /// The path of the base URL, including `/v1`.
    path: String,
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
    /// The path and query of a request.
    pub(crate) fn uri(&self, rest: &str, query: Option<&str>) -> Result<Uri, Problem> {
        let path = match query {
            Some(query) => format!("{}/{rest}?{query}", self.path),
            None => format!("{}/{rest}", self.path),
        };
        let path = PathAndQuery::from_maybe_shared(Bytes::from(path));
        path.map(Uri::from).map_err(|_| invalid_url(&self.name))
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

fn invalid_url(name: &str) -> Problem {
    let detail = format!("`providers.{name}.base_url` is not a valid URL");
    not_configured(detail, "write it as `https://api.example.com/v1`")
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
    /// By connect timeout and base URL. Pools survive a change of the configuration.
    pools: HashMap<(Duration, Uri), Arc<UpstreamPool>>,
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
        let mut made = make(provider, &mut cache.pools, secrets)?;
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
    pools: &mut HashMap<(Duration, Uri), Arc<UpstreamPool>>,
    secrets: &dyn Secrets,
) -> Result<Upstream, Problem> {
    let mut base = provider.base_url.trim().trim_end_matches('/').to_owned();
    // Official clients add `/v1`; a configured one is kept.
    if provider.dialect == WireDialect::Anthropic && !base.ends_with("/v1") {
        base.push_str("/v1");
    }
    let url: Uri = base.parse().map_err(|_| invalid_url(&provider.name))?;
    let key_of_pool = (provider.timeouts.connect, url);
    let pool = match pools.get(&key_of_pool) {
        Some(pool) => Arc::clone(pool),
        None => {
            let (connect, url) = &key_of_pool;
            let pool = UpstreamPool::new(url, connector(*connect, &base)?);
            let pool = Arc::new(pool.ok_or_else(|| invalid_url(&provider.name))?);
            Arc::clone(pools.entry(key_of_pool.clone()).or_insert(pool))
        }
    };
    let path = key_of_pool.1.path().trim_end_matches('/').to_owned();
    let headers = provider.headers.iter().filter_map(|(name, value)| {
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, secret_value(value.reveal())?))
    });
    Ok(Upstream {
        name: Arc::clone(&provider.name),
        pool,
        path,
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

/// A connector without a proxy.
fn connector(connect: Duration, url: &str) -> Result<HttpsConnector<HttpConnector>, Problem> {
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
    Ok(HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(http))
}
