//! Whose request it is: somebody's with a token of ours, or a program's on this machine that comes with its provider's key.

use std::net::SocketAddr;
use std::sync::Arc;

use foreword_agent::inbound::Occasion;
use foreword_core::api_token::{ProxyMode, Scope};
use foreword_core::provider::WireDialect;
use foreword_prompt::trust::Trust;
use foreword_workspace::config::{ClientKeys, Config};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::exchange::Payer;
use super::{headers, words};
use crate::app::App;
use crate::auth::credential::Credential;
use crate::auth::limits::largest_body;
use crate::auth::{Caller, Onlooker, from_allowed_page, names_loopback};
use crate::problem::Problem;

/// Whose request it is.
pub(crate) enum Who {
    /// Somebody with a token: the provider is paid by the owner.
    Caller(Caller),
    /// A program on this machine with a key of its own.
    Own {
        /// The header it came in, which goes on as it is.
        key: (HeaderName, HeaderValue),
        /// What stands for it where requests are kept.
        hash: Arc<str>,
    },
}

impl Who {
    /// Who pays, and whose conversations a request may join: those of the token's user, or of whoever it asserts to speak,
    /// where that is.
    pub(crate) fn payer(&self, config: &Config, headers: &HeaderMap, occasion: Option<&Occasion>) -> Payer {
        let caller = match self {
            Self::Caller(caller) => caller,
            Self::Own { hash, .. } => return Payer::ClientKey(Arc::clone(hash)),
        };
        let id = caller.token().clone();
        match occasion.filter(|_| words::asserts(caller, headers)) {
            None => Payer::Token { user: Some(caller.user().into()), line: id.as_str().into(), id },
            Some(occasion) => Payer::Token {
                user: speaker(config, occasion),
                line: format!("{id}+{}", words::asserted_mark(&id, headers)).into(),
                id,
            },
        }
    }

    /// The effective trust of whoever reads the answer: the token's user, or the person it asserts. A key proves nobody.
    pub(crate) fn trust(&self, config: &Config, headers: &HeaderMap, occasion: Option<&Occasion>) -> Trust {
        let Self::Caller(caller) = self else { return Trust::Public };
        match occasion.filter(|_| words::asserts(caller, headers)) {
            Some(occasion) => Onlooker::speaker(occasion, config).trust(),
            None => caller.trust(config),
        }
    }

    /// How large a body of theirs may be.
    pub(crate) fn largest_body(&self, config: &Config) -> usize {
        match self {
            Self::Caller(caller) => largest_body(caller.api_token(), &config.server.limits),
            Self::Own { .. } => config.server.limits.body,
        }
    }

    /// What is done with the request.
    pub(crate) fn mode(&self, config: &Config) -> ProxyMode {
        match self {
            Self::Caller(caller) => caller.api_token().mode.unwrap_or(config.proxy.mode),
            // Nobody is trusted for a key.
            Self::Own { .. } => ProxyMode::Observe,
        }
    }
}

/// Who speaks on an occasion, if it is somebody known.
fn speaker(config: &Config, occasion: &Occasion) -> Option<Arc<str>> {
    let known = config.speaker(occasion.user.as_deref(), occasion.channel.as_ref());
    known.map(|user| Arc::clone(&user.name))
}

/// Where a credential may be, ours before the provider's.
const PLACES: [HeaderName; 3] = [
    HeaderName::from_static("x-foreword-token"),
    HeaderName::from_static("x-api-key"),
    header::AUTHORIZATION,
];

/// Finds out whose request it is.
pub(crate) async fn who(
    app: &App,
    config: &Config,
    dialect: WireDialect,
    (peer, headers): (SocketAddr, &HeaderMap),
) -> Result<Who, Problem> {
    if !from_allowed_page(headers, &config.server) {
        return Err(Problem::forbidden("foreign_origin", "this page may not talk to this server")
            .help("name it in `server.origins` of foreword.yaml, if it is yours"));
    }
    if let Some(credential) = PLACES.iter().find_map(|place| Credential::read(shown(headers, place)?)) {
        let Some(token) = app.tokens.find(&credential).await? else {
            return Err(unauthorized(
                "this token opens nothing: it was revoked, has expired, or never was one",
            ));
        };
        let caller = Caller::of(token);
        caller.needs(Scope::Chat)?;
        return Ok(Who::Caller(caller));
    }
    own_key(config, dialect, (peer, headers))
}

fn own_key(
    config: &Config,
    dialect: WireDialect,
    (peer, headers): (SocketAddr, &HeaderMap),
) -> Result<Who, Problem> {
    let own = PLACES[1..].iter().find_map(|place| {
        let key = shown(headers, place)?;
        is_key_of(dialect, key).then(|| (place.clone(), key))
    });
    let Some((place, key)) = own else {
        return Err(unauthorized(
            "neither a token of this server nor a key of the provider came with the request",
        ));
    };
    let may = config.proxy.client_keys == ClientKeys::Loopback;
    if !may || !is_near(peer, headers) {
        return Err(unauthorized(if may {
            "a provider's own key counts only from a program on the same machine"
        } else {
            "a provider's own key does not count here (`proxy.client_keys: never`)"
        }));
    }
    let hash = blake3::derive_key("foreword 2026 drop-in client key", key.as_bytes());
    let hash = format!("key-{}", &blake3::Hash::from(hash).to_hex()[..32]);
    // It was found under that name a moment ago.
    let value = headers.get(&place).cloned().unwrap_or(HeaderValue::from_static(""));
    Ok(Who::Own { key: (place, value), hash: hash.into() })
}

/// What is shown in a header, without the word before it.
fn shown<'a>(headers: &'a HeaderMap, place: &HeaderName) -> Option<&'a str> {
    let value = headers::text(headers, place.as_str())?;
    if *place != header::AUTHORIZATION {
        return Some(value);
    }
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Whether it looks like a key of that provider's. One of another's is not sent there.
fn is_key_of(dialect: WireDialect, key: &str) -> bool {
    match dialect {
        WireDialect::Anthropic => key.starts_with("sk-ant-"),
        WireDialect::OpenAi => key.starts_with("sk-") && !key.starts_with("sk-ant-"),
    }
}

/// Whether a program on this machine speaks, and not a page or somebody behind a reverse proxy. A reverse proxy may say
/// nothing of whom it speaks for; but whoever is on this machine has called it by a name that leads nowhere else.
fn is_near(peer: SocketAddr, headers: &HeaderMap) -> bool {
    let from_further = [header::ORIGIN, header::FORWARDED]
        .iter()
        .chain(&[HeaderName::from_static("x-forwarded-for"), HeaderName::from_static("x-real-ip")])
        .any(|name| headers.contains_key(name));
    peer.ip().to_canonical().is_loopback() && !from_further && names_loopback(headers)
}

fn unauthorized(detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail).help(
        "give your client a token from `foreword token create` as its API key, or run it on the same machine as the server \
         with the provider's own key",
    )
}
