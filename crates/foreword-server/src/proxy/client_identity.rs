//! Identifies the client of a proxied request: a token of this server, or a local program with its own provider key.

use std::net::SocketAddr;
use std::sync::Arc;

use foreword_agent::conversation::inbound::TurnOrigin;
use foreword_core::api_token::{ProxyMode, Scope};
use foreword_core::provider::WireDialect;
use foreword_prompt::trust::Trust;
use foreword_workspace::config::{ClientKeys, Config};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::exchange::Payer;
use super::{headers, prompt_cache};
use crate::app::App;
use crate::auth::credential::Credential;
use crate::auth::limits::max_body_bytes;
use crate::auth::{Caller, Reader, from_allowed_page, names_loopback};
use crate::problem::Problem;

/// The client of a proxied request.
pub(crate) enum ClientIdentity {
    /// A client with a token: the owner pays the provider.
    Caller(Caller),
    /// A program on this machine with its own provider key.
    ProviderKey {
        /// The header with the key, which is forwarded unchanged.
        key: (HeaderName, HeaderValue),
        /// Identifies the key in records.
        hash: Arc<str>,
    },
}

impl ClientIdentity {
    /// The payer, which decides which conversations the request may join: those of the token's user, or of the asserted
    /// user and place.
    pub(crate) fn payer(&self, config: &Config, headers: &HeaderMap, occasion: Option<&TurnOrigin>) -> Payer {
        let caller = match self {
            Self::Caller(caller) => caller,
            Self::ProviderKey { hash, .. } => return Payer::ClientKey(Arc::clone(hash)),
        };
        let id = caller.token().clone();
        match occasion.filter(|_| prompt_cache::asserts(caller, headers)) {
            None => Payer::Token { user: Some(caller.user().into()), scope: id.as_str().into(), id },
            Some(occasion) => Payer::Token {
                user: speaker(config, occasion),
                scope: format!("{id}+{}", prompt_cache::assertion_hash(&id, headers)).into(),
                id,
            },
        }
    }

    /// The effective trust of the response's reader: the token's user, or the asserted one. A provider key identifies
    /// no user.
    pub(crate) fn trust(&self, config: &Config, headers: &HeaderMap, occasion: Option<&TurnOrigin>) -> Trust {
        let Self::Caller(caller) = self else { return Trust::Public };
        match occasion.filter(|_| prompt_cache::asserts(caller, headers)) {
            Some(occasion) => Reader::speaker(occasion, config).trust(),
            None => caller.trust(config),
        }
    }

    pub(crate) fn max_body_bytes(&self, config: &Config) -> usize {
        match self {
            Self::Caller(caller) => max_body_bytes(caller.api_token(), &config.server.limits),
            Self::ProviderKey { .. } => config.server.limits.body,
        }
    }

    pub(crate) fn mode(&self, config: &Config) -> ProxyMode {
        match self {
            Self::Caller(caller) => caller.api_token().mode.unwrap_or(config.proxy.mode),
            // A provider key conveys no trust.
            Self::ProviderKey { .. } => ProxyMode::Observe,
        }
    }
}

/// The known user of an occasion.
fn speaker(config: &Config, occasion: &TurnOrigin) -> Option<Arc<str>> {
    let known = config.speaker(occasion.speaker.user.as_deref(), occasion.speaker.channel.as_ref());
    known.map(|user| Arc::clone(&user.name))
}

/// The headers that may contain a credential, in order of precedence.
const CREDENTIAL_HEADERS: [HeaderName; 3] = [
    HeaderName::from_static("x-foreword-token"),
    HeaderName::from_static("x-api-key"),
    header::AUTHORIZATION,
];

/// Identifies the client.
pub(crate) async fn resolve(
    app: &App,
    config: &Config,
    dialect: WireDialect,
    peer: SocketAddr,
    headers: &HeaderMap,
) -> Result<ClientIdentity, Problem> {
    if !from_allowed_page(headers, &config.server) {
        return Err(Problem::forbidden("foreign_origin", "the origin of this page is not allowed")
            .help("add it to `server.origins` in foreword.yaml, if it is yours"));
    }
    if let Some(credential) = CREDENTIAL_HEADERS
        .iter()
        .find_map(|header_name| Credential::read(credential_in(headers, header_name)?))
    {
        let Some(token) = app.tokens.find(&credential).await? else {
            return Err(unauthorized("invalid, expired or revoked token"));
        };
        let caller = Caller::of(token);
        caller.require(Scope::Chat)?;
        return Ok(ClientIdentity::Caller(caller));
    }
    from_provider_key(config, dialect, peer, headers)
}

fn from_provider_key(
    config: &Config,
    dialect: WireDialect,
    peer: SocketAddr,
    headers: &HeaderMap,
) -> Result<ClientIdentity, Problem> {
    let own = CREDENTIAL_HEADERS[1..].iter().find_map(|header_name| {
        let key = credential_in(headers, header_name)?;
        is_key_of(dialect, key).then(|| (header_name.clone(), key))
    });
    let Some((header_name, key)) = own else {
        return Err(unauthorized("the request has neither a token of this server nor a provider key"));
    };
    let allowed = config.proxy.client_keys == ClientKeys::Loopback;
    if !allowed || !is_local_program(peer, headers) {
        return Err(unauthorized(if allowed {
            "a provider key is only accepted from a program on the same machine"
        } else {
            "provider keys are not accepted here (`proxy.client_keys: never`)"
        }));
    }
    let hash = blake3::derive_key("foreword 2026 drop-in client key", key.as_bytes());
    let hash = format!("key-{}", &blake3::Hash::from(hash).to_hex()[..32]);
    // The header was found above.
    let value = headers.get(&header_name).cloned().unwrap_or(HeaderValue::from_static(""));
    Ok(ClientIdentity::ProviderKey { key: (header_name, value), hash: hash.into() })
}

/// The credential in a header, without the scheme.
fn credential_in<'a>(headers: &'a HeaderMap, header_name: &HeaderName) -> Option<&'a str> {
    let value = headers::text(headers, header_name.as_str())?;
    if *header_name != header::AUTHORIZATION {
        return Some(value);
    }
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Whether the key has the format of this provider. Keys of other providers are never forwarded to it.
fn is_key_of(dialect: WireDialect, key: &str) -> bool {
    match dialect {
        WireDialect::Anthropic => key.starts_with("sk-ant-"),
        WireDialect::OpenAi => key.starts_with("sk-") && !key.starts_with("sk-ant-"),
    }
}

/// Whether the client is a program on this machine, rather than a web page or a remote client behind a reverse proxy.
/// Not every reverse proxy adds headers, so the `Host` header must name the loopback interface too.
fn is_local_program(peer: SocketAddr, headers: &HeaderMap) -> bool {
    let was_forwarded = [header::ORIGIN, header::FORWARDED]
        .iter()
        .chain(&[HeaderName::from_static("x-forwarded-for"), HeaderName::from_static("x-real-ip")])
        .any(|name| headers.contains_key(name));
    peer.ip().to_canonical().is_loopback() && !was_forwarded && names_loopback(headers)
}

fn unauthorized(detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail).help(
        "give your client a token from `foreword token create` as its API key, or run it on the same machine as the server \
         with the provider's own key",
    )
}
