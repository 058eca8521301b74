//! Tokens: list, create and revoke. Owner only. The text of a token is only returned when it is created.

use std::collections::BTreeSet;

use axum::extract::State;
use foreword_core::api_token::{ProxyMode, Scope, TokenLimits};
use foreword_core::id::TokenId;
use foreword_core::timestamp::Timestamp;
use foreword_store::tokens::ApiToken;
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::extract::{Json, Path, Query};
use super::pagination::{Page, PageQuery};
use super::utc_time::UtcTime;
use crate::app::App;
use crate::auth::Caller;
use crate::auth::token_spec::{TokenSpec, TokenSpecError};
use crate::error::ServerError;
use crate::problem::Problem;

/// A token, without its text.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Token)]
pub(crate) struct TokenBody {
    /// Its id.
    id: String,
    /// Its name.
    name: String,
    /// The user it belongs to, whose trust it has.
    user: String,
    /// Its scopes: `chat`, `observe`, `admin`, `assert`.
    scopes: Vec<&'static str>,
    /// The mode of drop-in endpoints; `null` is the server's default.
    mode: Option<&'static str>,
    /// `usable`, `expired` or `revoked`.
    #[schema(example = "usable")]
    state: &'static str,
    /// When it was created.
    created_at: UtcTime,
    /// When it was last used.
    last_used_at: Option<UtcTime>,
    /// When it expires.
    expires_at: Option<UtcTime>,
    /// When it was revoked.
    revoked_at: Option<UtcTime>,
    /// Limits that differ from the server's.
    limits: LimitsBody,
}

/// Limits of a token. Absent ones are the server's.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TokenLimits)]
pub(crate) struct LimitsBody {
    /// Requests per minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    requests_per_minute: Option<u64>,
    /// Concurrent turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    concurrent_turns: Option<u64>,
    /// US dollars per day.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(exclusive_minimum = 0.0)]
    usd_per_day: Option<f64>,
    /// The maximum request body in MiB, if below the server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    body_mb: Option<u64>,
}

/// A token to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenRequest {
    /// Its name. Default: after the user.
    #[schema(example = "kitchen tablet", max_length = 100)]
    name: Option<String>,
    /// The user, by the name in the configuration. Default: the owner.
    #[schema(example = "bob")]
    user: Option<String>,
    /// Its scopes. Default: `chat` and `observe`.
    #[serde(default)]
    scopes: Vec<ScopeWord>,
    /// The mode of drop-in endpoints.
    mode: Option<ModeWord>,
    /// Its lifetime: `30d`, `12h`, a date, a time, or `never`. Default: `never`.
    #[schema(example = "30d")]
    expires: Option<String>,
    /// Limits that differ from the server's.
    #[serde(default)]
    limits: LimitsBody,
}

/// A scope of a token.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Scope)]
pub(crate) enum ScopeWord {
    /// Send messages to the agent.
    Chat,
    /// Read events, traces and costs.
    Observe,
    /// Change stored data.
    Admin,
    /// Assert the user of a request.
    Assert,
}

/// The mode of a drop-in endpoint.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ProxyMode)]
pub(crate) enum ModeWord {
    /// Forward requests unchanged.
    Observe,
    /// Insert Foreword's prompt before the client's.
    Prepend,
    /// Replace the client's prompt by Foreword's.
    Replace,
}

/// A new token.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NewToken)]
pub(crate) struct NewTokenBody {
    /// Its text, which is not stored and never returned again.
    #[schema(example = "fwd_…")]
    token: String,
    /// The token.
    #[serde(flatten)]
    about: TokenBody,
}

/// Lists tokens, oldest first
#[utoipa::path(get, path = "/api/v1/tokens", tag = "tokens", security(("bearer" = ["admin"])), params(PageQuery),
    responses(
        (status = 200, body = Page<TokenBody>),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn list_tokens(
    State(app): State<App>,
    caller: Caller,
    Query(page): Query<PageQuery>,
) -> Result<axum::Json<Page<TokenBody>>, Problem> {
    caller.require_owner(Scope::Admin, &app.config())?;
    let limit = usize::try_from(page.limit()?).unwrap_or(usize::MAX);
    // Recent last-used times are not stored yet.
    app.tokens.write_uses().await;
    let all = app.store.tokens().await?;
    let from = match page.after() {
        None => 0,
        Some(after) => match all.iter().position(|token| token.id.as_str() == after) {
            Some(place) => place + 1,
            None => {
                return Err(Problem::bad_request("bad_cursor", "`after` is not a valid cursor of this list"));
            }
        },
    };
    let (shown, rest) = all[from..].split_at(limit.min(all.len() - from));
    let next = shown.last().filter(|_| !rest.is_empty()).map(|token| token.id.to_string());
    let now = app.now();
    Ok(axum::Json(Page { items: shown.iter().map(|token| TokenBody::of(token, now)).collect(), next }))
}

/// Creates a token
///
/// Its text is only in this response.
#[utoipa::path(post, path = "/api/v1/tokens", tag = "tokens", security(("bearer" = ["admin"])), request_body = TokenRequest,
    responses(
        (status = 201, body = NewTokenBody),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 413, body = Problem, content_type = "application/problem+json"),
        (status = 415, body = Problem, content_type = "application/problem+json"),
        (status = 422, body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn create_token(
    State(app): State<App>,
    caller: Caller,
    Json(request): Json<TokenRequest>,
) -> Result<axum::response::Response, Problem> {
    use axum::response::IntoResponse as _;
    let config = app.config();
    caller.require_owner(Scope::Admin, &config)?;
    let grant = TokenSpec::from(request).grant(&config, &app.clock_and_rng.now())?;
    let (token, credential) = grant.issue(&app.store, &app.clock_and_rng).await?;
    app.tokens.clear();
    let body =
        NewTokenBody { token: credential.reveal().to_owned(), about: TokenBody::of(&token, app.now()) };
    // No cache on the way keeps a copy.
    let uncached = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((StatusCode::CREATED, uncached, axum::Json(body)).into_response())
}

/// Revokes a token
///
/// Revoking it again has no effect.
#[utoipa::path(delete, path = "/api/v1/tokens/{id}", tag = "tokens", security(("bearer" = ["admin"])),
    params(("id" = String, Path, description = "The token's id, not its text.")),
    responses(
        (status = 200, body = TokenBody),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn revoke_token(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<axum::Json<TokenBody>, Problem> {
    caller.require_owner(Scope::Admin, &app.config())?;
    let id = TokenId::new(&id).map_err(|bad| Problem::bad_request("invalid_id", bad.to_string()))?;
    let token = app.store.revoke_token(&id, app.now()).await?;
    app.tokens.clear();
    Ok(axum::Json(TokenBody::of(&token, app.now())))
}

impl TokenBody {
    fn of(token: &ApiToken, now: Timestamp) -> Self {
        let TokenLimits { requests_per_minute, concurrent_turns, usd_per_day, body_mb } = token.limits;
        let state = match token.validity.revoked_at {
            Some(_) => "revoked",
            None if token.validity.is_usable(now) => "usable",
            None => "expired",
        };
        Self {
            id: token.id.to_string(),
            name: token.name.clone(),
            user: token.user.clone(),
            scopes: token.scopes.iter().map(|scope| scope.as_str()).collect(),
            mode: token.mode.map(ProxyMode::as_str),
            state,
            created_at: token.created_at.into(),
            last_used_at: token.last_used_at.map(Into::into),
            expires_at: token.validity.expires_at.map(Into::into),
            revoked_at: token.validity.revoked_at.map(Into::into),
            limits: LimitsBody { requests_per_minute, concurrent_turns, usd_per_day, body_mb },
        }
    }
}

impl From<TokenRequest> for TokenSpec {
    fn from(request: TokenRequest) -> Self {
        let scope = |word: ScopeWord| match word {
            ScopeWord::Chat => Scope::Chat,
            ScopeWord::Observe => Scope::Observe,
            ScopeWord::Admin => Scope::Admin,
            ScopeWord::Assert => Scope::Assert,
        };
        let mode = |word: ModeWord| match word {
            ModeWord::Observe => ProxyMode::Observe,
            ModeWord::Prepend => ProxyMode::Prepend,
            ModeWord::Replace => ProxyMode::Replace,
        };
        let LimitsBody { requests_per_minute, concurrent_turns, usd_per_day, body_mb } = request.limits;
        Self {
            name: request.name,
            user: request.user,
            scopes: request.scopes.into_iter().map(scope).collect::<BTreeSet<_>>(),
            mode: request.mode.map(mode),
            expires: request.expires,
            limits: TokenLimits { requests_per_minute, concurrent_turns, usd_per_day, body_mb },
        }
    }
}

impl From<TokenSpecError> for Problem {
    fn from(bad: TokenSpecError) -> Self {
        Self::bad_request(bad.code(), bad.to_string()).help(bad.help())
    }
}

impl From<ServerError> for Problem {
    fn from(error: ServerError) -> Self {
        match error {
            ServerError::Store(error) => error.into(),
            ServerError::Id(bad) => Self::bad_request("invalid_id", bad.to_string()),
            ServerError::Listen { .. } | ServerError::Certificate { .. } | ServerError::Protocol { .. } => {
                Self::unavailable("not_listening", error.to_string())
            }
        }
    }
}
