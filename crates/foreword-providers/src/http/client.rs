//! The HTTP client of one provider: URL, headers and TLS.

use foreword_core::model::{ErrorKind, ModelError};
use foreword_core::provider::{Provider, Secret, WireDialect};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url, redirect};

use crate::dialect::anthropic;

/// The URL of requests.
pub(super) fn endpoint(provider: &Provider) -> Result<Url, ModelError> {
    let unusable = |reason: &str| {
        // Do not show the address: it may contain a password.
        not_configured(provider, format!("`base_url` {reason}; write it as `https://api.example.com/v1`"))
    };
    let mut url = Url::parse(provider.base_url.trim()).map_err(|_| unusable("is not a valid URL"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(unusable("must begin with `http://` or `https://` and a host"));
    }
    let mut path: Vec<&str> = url.path().split('/').filter(|part| !part.is_empty()).collect();
    match provider.dialect {
        WireDialect::Anthropic => {
            // Official clients append `v1`; accept a base URL that already ends with it.
            if path.last() != Some(&"v1") {
                path.push("v1");
            }
            path.push("messages");
        }
        WireDialect::OpenAi => path.extend(["chat", "completions"]),
    }
    let path = path.join("/");
    url.set_path(&path);
    Ok(url)
}

/// Builds the client. It follows no redirects, since they could send the key to another host, and uses no proxy.
pub(super) fn build(provider: &Provider, key: Option<&Secret>, url: &Url) -> Result<Client, ModelError> {
    let tls = foreword_tls::client_config_for(url.as_str());
    let tls = tls.map_err(|error| not_configured(provider, error.to_string()))?;
    Client::builder()
        .tls_backend_preconfigured(tls)
        .default_headers(headers(provider, key)?)
        .user_agent(concat!("foreword/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .referer(false)
        .no_proxy()
        // With HTTP/2, the server's stream limit would limit concurrent calls.
        .http1_only()
        .tcp_nodelay(true)
        .connect_timeout(provider.timeouts.connect)
        .build()
        .map_err(|_| not_configured(provider, "no HTTP client can be made".to_owned()))
}

fn headers(provider: &Provider, key: Option<&Secret>) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    let (name, prefix) = match provider.dialect {
        WireDialect::Anthropic => (HeaderName::from_static("x-api-key"), ""),
        WireDialect::OpenAi => (AUTHORIZATION, "Bearer "),
    };
    if provider.dialect == WireDialect::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
    }
    if let Some(key) = key {
        let value = secret_value(&format!("{prefix}{}", key.reveal().trim()));
        let value = value.ok_or_else(|| {
            not_configured(
                provider,
                "the key has characters that no header can hold; copy it again".to_owned(),
            )
        })?;
        headers.insert(name, value);
    }
    // Configured headers override ours.
    for (name, _) in &provider.headers {
        headers.remove(name.as_str());
    }
    for (name, value) in &provider.headers {
        let unusable =
            || not_configured(provider, format!("the header `{}` can't be sent", name.escape_debug()));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable())?;
        headers.append(name, secret_value(value.reveal()).ok_or_else(unusable)?);
    }
    Ok(headers)
}

fn secret_value(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn not_configured(provider: &Provider, message: String) -> ModelError {
    ModelError {
        kind: ErrorKind::NotConfigured,
        provider: provider.name.to_string(),
        status: None,
        message,
        retry_after: None,
        request_id: None,
    }
}
