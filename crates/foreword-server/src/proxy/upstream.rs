//! The providers behind the endpoints: where each is, with which key and headers it is spoken to, and the connections that
//! are kept to it. Made once for a configuration, so that a request finds everything ready.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use foreword_core::provider::{KeySource, Provider, WireDialect};
use foreword_workspace::config::Config;
use http::{HeaderName, HeaderValue, Uri, header};
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::key_mask::ProviderKeys;
use crate::app::Secrets;
use crate::problem::Problem;

/// How long a connection is kept that nobody uses.
const KEPT: Duration = Duration::from_secs(60);

/// Whoever speaks to providers.
pub(crate) type HttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A provider, ready to be spoken to.
pub(crate) struct Upstream {
    pub(crate) name: Arc<str>,
    pub(crate) client: HttpClient,
    /// The address up to and with `/v1`.
    base: String,
    key: Key,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// The keys of all providers, which no client gets to see.
    pub(crate) keys: ProviderKeys,
}

enum Key {
    None,
    Ready(HeaderName, HeaderValue),
    /// The variable it should be in.
    Missing(String),
    Unusable,
}

impl Upstream {
    /// Where a request for `rest` goes.
    pub(crate) fn uri(&self, rest: &str, query: Option<&str>) -> Result<Uri, Problem> {
        let uri = match query {
            Some(query) => format!("{}/{rest}?{query}", self.base),
            None => format!("{}/{rest}", self.base),
        };
        uri.parse().map_err(|_| {
            let detail = format!("`providers.{}.base_url` is no address", self.name);
            not_configured(detail, "write it as `https://api.example.com/v1`")
        })
    }

    /// The headers that open the provider's door in the owner's name.
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
                let detail =
                    format!("the key of the provider `{}` has characters that no header can hold", self.name);
                return Err(not_configured(detail, "copy it again"));
            }
        };
        // What the configuration says wins over what we would send.
        let key = key.filter(|(name, _)| !self.headers.iter().any(|(other, _)| other == *name));
        Ok(key.into_iter().chain(self.headers.iter().map(|(name, value)| (name, value))))
    }
}

fn not_configured(cause: String, help: impl Into<String>) -> Problem {
    let public = "the provider is not configured: the server's owner finds the reason";
    Problem::new(http::StatusCode::INTERNAL_SERVER_ERROR, "provider_not_configured", public)
        .cause(cause, Some(help.into()))
}

/// The providers behind the endpoints.
#[derive(Default)]
pub(crate) struct Upstreams(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// The configuration they were made from.
    config: Option<Arc<Config>>,
    anthropic: Option<Arc<Upstream>>,
    openai: Option<Arc<Upstream>>,
    /// By how long they wait for a connection, and whether they encrypt: connections outlive a change of the configuration.
    clients: HashMap<(Duration, bool), HttpClient>,
}

impl Upstreams {
    /// The provider that an endpoint leads to.
    pub(crate) fn find(
        &self,
        dialect: WireDialect,
        config: &Arc<Config>,
        secrets: &dyn Secrets,
    ) -> Result<Arc<Upstream>, Problem> {
        // What is kept can be made again.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.config.as_ref().is_some_and(|known| Arc::ptr_eq(known, config)) {
            (kept.anthropic, kept.openai) = (None, None);
            kept.config = Some(Arc::clone(config));
        }
        let (known, name) = match dialect {
            WireDialect::Anthropic => (&kept.anthropic, &config.proxy.anthropic),
            WireDialect::OpenAi => (&kept.openai, &config.proxy.openai),
        };
        if let Some(known) = known {
            return Ok(Arc::clone(known));
        }
        let Some(provider) = config.providers.get(name) else {
            let help = format!("describe it in `providers.{name}` of foreword.yaml");
            return Err(not_configured(format!("there is no provider `{name}`"), help));
        };
        let mut made = make(provider, &mut kept.clients, secrets)?;
        made.keys = ProviderKeys::of(config, secrets);
        let made = Arc::new(made);
        match dialect {
            WireDialect::Anthropic => kept.anthropic = Some(Arc::clone(&made)),
            WireDialect::OpenAi => kept.openai = Some(Arc::clone(&made)),
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
    // Official clients add it; whoever has written it already means the same.
    if provider.dialect == WireDialect::Anthropic && !base.ends_with("/v1") {
        base.push_str("/v1");
    }
    let encrypts = base.starts_with("https://");
    let kind = (provider.timeouts.connect, encrypts);
    let client = match clients.get(&kind) {
        Some(client) => client.clone(),
        None => clients.entry(kind).or_insert(client(kind)?).clone(),
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

/// A client. It follows no redirects, since they could lead the key elsewhere, and knows no proxy.
fn client((connect, encrypts): (Duration, bool)) -> Result<HttpClient, Problem> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(connect));
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls(encrypts)?)
        .https_or_http()
        .enable_http1()
        .wrap_connector(http);
    Ok(Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(KEPT)
        .build(connector))
}

/// Whom to trust: the certificates of this machine, if any are needed at all.
fn tls(encrypts: bool) -> Result<ClientConfig, Problem> {
    let mut trusted = RootCertStore::empty();
    if encrypts {
        trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if trusted.is_empty() {
            let help = "install the package `ca-certificates`";
            return Err(not_configured("this machine trusts no certificates".to_owned(), help));
        }
    }
    Ok(ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| not_configured("no way to encrypt is there".to_owned(), "check this build's TLS"))?
        .with_root_certificates(trusted)
        .with_no_client_auth())
}
