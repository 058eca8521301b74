//! Who asks: found out once for each request, before anything else is looked at.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use foreword_agent::inbound::Occasion;
use foreword_core::api_token::Scope;
use foreword_core::id::TokenId;
use foreword_prompt::occasion::Channel;
use foreword_prompt::trust::Trust;
use foreword_store::tokens::ApiToken;
use foreword_workspace::config::Config;
use foreword_workspace::request::DIRECT;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, header};

use super::cookie;
use super::credential::Credential;
use super::origin::from_allowed_page;
use crate::app::App;
use crate::problem::Problem;

/// Whoever asks, known by a token.
#[derive(Debug, Clone)]
pub(crate) struct Caller(Arc<ApiToken>);

impl Caller {
    pub(crate) fn of(token: Arc<ApiToken>) -> Self {
        Self(token)
    }

    /// The token they have shown.
    pub(crate) fn token(&self) -> &TokenId {
        &self.0.id
    }

    /// The user they are.
    pub(crate) fn user(&self) -> &str {
        &self.0.user
    }

    pub(crate) fn api_token(&self) -> &ApiToken {
        &self.0
    }

    pub(crate) fn scopes(&self) -> &BTreeSet<Scope> {
        &self.0.scopes
    }

    /// Refuses whoever's token does not open `scope`.
    pub(crate) fn needs(&self, scope: Scope) -> Result<(), Problem> {
        if self.0.scopes.contains(&scope) {
            return Ok(());
        }
        let help = format!("make one with `foreword token create --scope {scope} --user {}`", self.0.user);
        Err(Problem::forbidden("scope_missing", format!("this token does not open `{scope}`")).help(help))
    }

    /// The same, and refuses whoever is not the owner, whatever the token says.
    pub(crate) fn needs_owner(&self, scope: Scope, config: &Config) -> Result<(), Problem> {
        self.needs(scope)?;
        if self.trust(config) == Trust::Full {
            return Ok(());
        }
        Err(Problem::forbidden("owner_only", format!("`{}` is not the owner here", self.0.user)))
    }

    /// How far they are trusted where nobody else listens. A user who is not in the configuration any more is `public`.
    pub(crate) fn trust(&self, config: &Config) -> Trust {
        config.trust(config.user(&self.0.user), DIRECT).effective()
    }

    /// The occasion they speak on: as themselves in private, or as they assert, if they may.
    pub(crate) fn occasion(&self, asserted: &Asserted, config: &Config) -> Result<Occasion, Problem> {
        if asserted.is_empty() || self.0.scopes.contains(&Scope::Assert) {
            let as_themselves = asserted.user.is_none() && asserted.channel.is_none();
            let situation = asserted.situation.as_deref();
            if let Some(unknown) = situation.filter(|name| !config.situations.contains_key(*name)) {
                let known: Vec<&str> = config.situations.keys().map(|name| &**name).collect();
                let detail = format!("there is no situation `{}`", unknown.escape_debug());
                return Err(Problem::bad_request("unknown_situation", detail)
                    .help(format!("use one of {}", known.join(", "))));
            }
            return Ok(Occasion {
                user: if as_themselves { Some(self.0.user.as_str().into()) } else { asserted.user.clone() },
                channel: Some(asserted.channel.clone().unwrap_or_else(|| self.own_channel())),
                situation: asserted.situation.clone(),
                ..Occasion::default()
            });
        }
        if asserted.user.as_deref() == Some(self.0.user.as_str())
            && asserted.channel.is_none()
            && asserted.situation.is_none()
        {
            return self.occasion(&Asserted::default(), config);
        }
        let detail =
            format!("this token speaks for `{}` and may not say who or where somebody is", self.0.user);
        Err(Problem::forbidden("may_not_assert", detail)
            .help("leave out user, channel and situation (as `x-foreword-…` headers or in the body), or use a token with the scope `assert`"))
    }

    /// Where somebody speaks who came over HTTP.
    fn own_channel(&self) -> Channel {
        Channel::new(&format!("http:{}", self.0.user))
    }
}

/// What a client says of who and where somebody is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Asserted {
    pub(crate) user: Option<Arc<str>>,
    pub(crate) channel: Option<Channel>,
    pub(crate) situation: Option<Arc<str>>,
}

impl Asserted {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What the headers of a request say.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let read = |name: &'static str| match headers.get(name).map(|value| value.to_str()) {
            None => Ok(None),
            Some(Ok(value)) if !value.trim().is_empty() => Ok(Some(value.trim())),
            Some(_) => Err(Problem::bad_request("bad_header", format!("`{name}` is empty or no text"))),
        };
        Ok(Self {
            user: read("x-foreword-user")?.map(Into::into),
            channel: read("x-foreword-channel")?.map(Channel::new),
            situation: read("x-foreword-situation")?.map(Into::into),
        })
    }
}

/// Lets a request through once it is known whose it is.
pub(crate) async fn authenticated(State(app): State<App>, mut request: Request, next: Next) -> Response {
    match caller(&app, request.method(), request.headers()).await {
        Ok((caller, credential)) => {
            request.extensions_mut().insert(caller);
            // For whoever is answered for so long that the token may be revoked meanwhile.
            request.extensions_mut().insert(credential);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

/// Lets a request through if its token may ask again. What a probe asks every few seconds counts like everything else.
pub(crate) async fn within_limits(
    State(app): State<App>,
    caller: Caller,
    request: Request,
    next: Next,
) -> Response {
    match app.limits.count_request(caller.api_token(), &app.config().server.limits) {
        Ok(()) => next.run(request).await,
        Err(refusal) => Problem::from(refusal).into_response(),
    }
}

async fn caller(app: &App, method: &Method, headers: &HeaderMap) -> Result<(Caller, Credential), Problem> {
    if !method.is_safe() && !from_allowed_page(headers, &app.config().server) {
        return Err(Problem::forbidden("foreign_origin", "this page may not talk to this server")
            .help("name it in `server.origins` of foreword.yaml, if it is yours"));
    }
    let shown = bearer(headers).or(from_cookie(headers, !method.is_safe(), &app.config())?);
    let credential = shown.ok_or_else(no_token)?;
    Ok((known(app, &credential).await?, credential))
}

/// The token in the cookie of our own page, if there is one. What changes something has to come from such a page, and what
/// only reads must not come from another.
pub(crate) fn from_cookie(
    headers: &HeaderMap,
    changes: bool,
    config: &Config,
) -> Result<Option<Credential>, Problem> {
    let Some(credential) = cookie::carried(headers, &config.server) else { return Ok(None) };
    let from_us = if changes {
        cookie::from_own_page(headers, &config.server)
    } else {
        cookie::asked_from_here(headers)
    };
    if headers.contains_key(header::AUTHORIZATION) {
        return Ok(None);
    }
    if from_us {
        return Ok(Some(credential));
    }
    Err(Problem::forbidden("foreign_origin", "a cookie counts only from this server's own page")
        .help("programs send their token as `Authorization: Bearer fwd_…`"))
}

/// Whoever has shown this token.
pub(crate) async fn known(app: &App, credential: &Credential) -> Result<Caller, Problem> {
    match app.tokens.find(credential).await? {
        Some(token) => Ok(Caller::of(token)),
        None => Err(unauthorized("this token opens nothing: it was revoked, has expired, or never was one")),
    }
}

/// Nobody has shown any token.
pub(crate) fn no_token() -> Problem {
    unauthorized("a token is needed: send it as `Authorization: Bearer fwd_…`")
}

pub(crate) fn unauthorized(detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
        .help("make one with `foreword token create`")
}

/// The token in the head of a request.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<Credential> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| Credential::read(token.trim()))?
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // Behind the layer that finds it out; a route that was forgotten there is closed.
        parts.extensions.get::<Self>().cloned().ok_or_else(|| unauthorized("a token is needed"))
    }
}
