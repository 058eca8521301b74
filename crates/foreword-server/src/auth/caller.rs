//! The caller of a request, identified by a token in the authentication middleware.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use foreword_agent::conversation::inbound::TurnOrigin;
use foreword_core::api_token::Scope;
use foreword_core::id::TokenId;
use foreword_prompt::occasion::Channel;
use foreword_prompt::trust::Trust;
use foreword_store::tokens::ApiToken;
use foreword_workspace::config::Config;
use foreword_workspace::request::DIRECT;
use foreword_workspace::speaker::Speaker;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, header};

use super::cookie;
use super::credential::Credential;
use super::origin::from_allowed_page;
use crate::app::App;
use crate::problem::Problem;

/// The caller of a request.
#[derive(Debug, Clone)]
pub(crate) struct Caller(Arc<ApiToken>);

impl Caller {
    pub(crate) fn of(token: Arc<ApiToken>) -> Self {
        Self(token)
    }

    /// The id of the token.
    pub(crate) fn token(&self) -> &TokenId {
        &self.0.id
    }

    /// The token's user.
    pub(crate) fn user(&self) -> &str {
        &self.0.user
    }

    pub(crate) fn api_token(&self) -> &ApiToken {
        &self.0
    }

    pub(crate) fn scopes(&self) -> &BTreeSet<Scope> {
        &self.0.scopes
    }

    /// Refuses a token without `scope`.
    pub(crate) fn require(&self, scope: Scope) -> Result<(), Problem> {
        if self.0.scopes.contains(&scope) {
            return Ok(());
        }
        let help = format!("create one with `foreword token create --scope {scope} --user {}`", self.0.user);
        Err(Problem::forbidden("scope_missing", format!("this token does not have the scope `{scope}`"))
            .help(help))
    }

    /// Refuses a token without `scope`, and any user but the owner.
    pub(crate) fn require_owner(&self, scope: Scope, config: &Config) -> Result<(), Problem> {
        self.require(scope)?;
        if self.trust(config) == Trust::Full {
            return Ok(());
        }
        Err(Problem::forbidden("owner_only", format!("`{}` is not the owner here", self.0.user)))
    }

    /// The caller's trust in a direct conversation. A user who is no longer configured is `public`.
    pub(crate) fn trust(&self, config: &Config) -> Trust {
        config.trust(config.user(&self.0.user), DIRECT).effective()
    }

    /// The occasion of the caller: their own, or the asserted one if the token may assert.
    pub(crate) fn occasion(&self, asserted: &Asserted, config: &Config) -> Result<TurnOrigin, Problem> {
        if asserted.is_empty() || self.0.scopes.contains(&Scope::Assert) {
            let as_themselves = asserted.user.is_none() && asserted.channel.is_none();
            let situation = asserted.situation.as_deref();
            if let Some(unknown) = situation.filter(|name| !config.situations.contains_key(*name)) {
                let known: Vec<&str> = config.situations.keys().map(|name| &**name).collect();
                let detail = format!("there is no situation `{}`", unknown.escape_debug());
                return Err(Problem::bad_request("unknown_situation", detail)
                    .help(format!("use one of {}", known.join(", "))));
            }
            return Ok(TurnOrigin {
                speaker: Speaker {
                    user: if as_themselves {
                        Some(self.0.user.as_str().into())
                    } else {
                        asserted.user.clone()
                    },
                    channel: Some(asserted.channel.clone().unwrap_or_else(|| self.own_channel())),
                    situation: asserted.situation.clone(),
                    ..Speaker::default()
                },
                ..TurnOrigin::default()
            });
        }
        if asserted.user.as_deref() == Some(self.0.user.as_str())
            && asserted.channel.is_none()
            && asserted.situation.is_none()
        {
            return self.occasion(&Asserted::default(), config);
        }
        let detail = format!(
            "this token belongs to `{}` and may not assert another user, channel or situation",
            self.0.user
        );
        Err(Problem::forbidden("may_not_assert", detail)
            .help("omit user, channel and situation (as `x-foreword-…` headers or in the body), or use a token with the scope `assert`"))
    }

    /// The channel of a user over HTTP.
    fn own_channel(&self) -> Channel {
        Channel::new(&format!("http:{}", self.0.user))
    }
}

/// The identity and place that a client asserts.
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

    /// Reads the assertion headers.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let read = |name: &'static str| match headers.get(name).map(|value| value.to_str()) {
            None => Ok(None),
            Some(Ok(value)) if !value.trim().is_empty() => Ok(Some(value.trim())),
            Some(_) => {
                Err(Problem::bad_request("bad_header", format!("`{name}` is empty or not valid text")))
            }
        };
        Ok(Self {
            user: read("x-foreword-user")?.map(Into::into),
            channel: read("x-foreword-channel")?.map(Channel::new),
            situation: read("x-foreword-situation")?.map(Into::into),
        })
    }
}

/// Middleware: authenticates the request.
pub(crate) async fn authenticate(State(app): State<App>, mut request: Request, next: Next) -> Response {
    match caller(&app, request.method(), request.headers()).await {
        Ok((caller, credential)) => {
            request.extensions_mut().insert(caller);
            // For long responses, during which the token may be revoked.
            request.extensions_mut().insert(credential);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

/// Middleware: enforces the token's rate limit.
pub(crate) async fn limit_rate(
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
        return Err(Problem::forbidden("foreign_origin", "the origin of this page is not allowed")
            .help("add it to `server.origins` in foreword.yaml, if it is yours"));
    }
    let credential = bearer(headers).or(from_cookie(headers, !method.is_safe(), &app.config())?);
    let credential = credential.ok_or_else(missing_token)?;
    Ok((find_caller(app, &credential).await?, credential))
}

/// The token in the cookie of the server's own page, if any. Writes must come from that page; reads must not come from
/// another.
pub(crate) fn from_cookie(
    headers: &HeaderMap,
    changes: bool,
    config: &Config,
) -> Result<Option<Credential>, Problem> {
    let Some(credential) = cookie::token_in_cookie(headers, &config.server) else { return Ok(None) };
    let from_us = if changes {
        cookie::from_own_page(headers, &config.server)
    } else {
        cookie::is_same_origin_read(headers)
    };
    if headers.contains_key(header::AUTHORIZATION) {
        return Ok(None);
    }
    if from_us {
        return Ok(Some(credential));
    }
    Err(Problem::forbidden("foreign_origin", "the cookie is only accepted from this server's own page")
        .help("programs send their token as `Authorization: Bearer fwd_…`"))
}

/// The caller of a token.
pub(crate) async fn find_caller(app: &App, credential: &Credential) -> Result<Caller, Problem> {
    match app.tokens.find(credential).await? {
        Some(token) => Ok(Caller::of(token)),
        None => Err(unauthorized("invalid, expired or revoked token")),
    }
}

pub(crate) fn missing_token() -> Problem {
    unauthorized("missing token: send it as `Authorization: Bearer fwd_…`")
}

pub(crate) fn unauthorized(detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
        .help("create one with `foreword token create`")
}

/// The token in the header `Authorization`.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<Credential> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| Credential::read(token.trim()))?
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // Set by the middleware. A route without it is refused.
        parts.extensions.get::<Self>().cloned().ok_or_else(|| unauthorized("missing token"))
    }
}
