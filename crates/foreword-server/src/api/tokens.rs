//! Tokens: made, listed and revoked by the owner. The text of a token is answered once, when it is made.

use std::collections::BTreeSet;

use axum::extract::State;
use foreword_core::api_token::{ProxyMode, Scope, TokenLimits};
use foreword_core::id::TokenId;
use foreword_core::timestamp::Timestamp;
use foreword_store::tokens::ApiToken;
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Json, Path, Query};
use super::moment::Moment;
use super::paging::{Page, PageQuery};
use crate::app::App;
use crate::auth::Caller;
use crate::auth::issuing::{BadWish, TokenWish};
use crate::error::ServerError;
use crate::problem::Problem;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_tokens, create_token)).routes(routes!(revoke_token))
}

/// A token, without anything that opens something.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Token)]
struct TokenBody {
    /// Its id.
    id: String,
    /// What its owner calls it.
    name: String,
    /// Whom it speaks for, and whose trust it has.
    user: String,
    /// What it opens: `chat`, `observe`, `admin`, `assert`.
    scopes: Vec<&'static str>,
    /// What a drop-in endpoint does with its requests; `null` is what holds for all.
    mode: Option<&'static str>,
    /// `usable`, `expired` or `revoked`.
    #[schema(example = "usable")]
    state: &'static str,
    /// When it was made.
    created_at: Moment,
    /// When it was last used.
    last_used_at: Option<Moment>,
    /// From when on it opens nothing.
    expires_at: Option<Moment>,
    /// Since when somebody has said that it opens nothing.
    revoked_at: Option<Moment>,
    /// What it may ask for, where that differs from what holds for all.
    limits: LimitsBody,
}

/// What one token may ask for. What is left out is what holds for all.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TokenLimits)]
struct LimitsBody {
    /// The most requests in a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    requests_per_minute: Option<u64>,
    /// The most turns at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    concurrent_turns: Option<u64>,
    /// The most that may be spent in a day, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(exclusive_minimum = 0.0)]
    usd_per_day: Option<f64>,
    /// The largest body of a request, in MiB, if less than for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    body_mb: Option<u64>,
}

/// A token to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TokenRequest {
    /// What to call it. Default: after the user.
    #[schema(example = "kitchen tablet", max_length = 100)]
    name: Option<String>,
    /// Whom it speaks for, by the name in the configuration. Default: the owner.
    #[schema(example = "bob")]
    user: Option<String>,
    /// What it opens. Default: `chat` and `observe`.
    #[serde(default)]
    scopes: Vec<ScopeWord>,
    /// What a drop-in endpoint does with its requests.
    mode: Option<ModeWord>,
    /// How long it lives: `30d`, `12h`, a date, a time, or `never`. Default: `never`.
    #[schema(example = "30d")]
    expires: Option<String>,
    /// What it may ask for, where that differs from what holds for all.
    #[serde(default)]
    limits: LimitsBody,
}

/// Something a token may be used for.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Scope)]
enum ScopeWord {
    /// Talk to the agent.
    Chat,
    /// See events, traces and costs.
    Observe,
    /// Change what is stored.
    Admin,
    /// Say who somebody is.
    Assert,
}

/// What a drop-in endpoint does with requests.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ProxyMode)]
enum ModeWord {
    /// Passes them on untouched.
    Observe,
    /// Puts Foreword's prompt before the client's.
    Prepend,
    /// Puts Foreword's prompt in place of the client's.
    Replace,
}

/// A token that was just made.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NewToken)]
struct NewTokenBody {
    /// Its text. It is not stored, and never answered again.
    #[schema(example = "fwd_…")]
    token: String,
    /// What is known of it.
    #[serde(flatten)]
    about: TokenBody,
}

/// All tokens, the oldest first
#[utoipa::path(get, path = "/api/v1/tokens", tag = "tokens", security(("bearer" = ["admin"])), params(PageQuery),
    responses(
        (status = 200, body = Page<TokenBody>),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
    ))]
async fn list_tokens(
    State(app): State<App>,
    caller: Caller,
    Query(page): Query<PageQuery>,
) -> Result<axum::Json<Page<TokenBody>>, Problem> {
    caller.needs_owner(Scope::Admin, &app.config())?;
    let limit = usize::try_from(page.limit()?).unwrap_or(usize::MAX);
    // Those that were used a moment ago are not all written down yet.
    app.tokens.write_uses().await;
    let all = app.store.tokens().await?;
    let from = match page.after() {
        None => 0,
        Some(after) => match all.iter().position(|token| token.id.as_str() == after) {
            Some(place) => place + 1,
            None => {
                return Err(Problem::bad_request("bad_cursor", "`after` is no place that a page ended at"));
            }
        },
    };
    let (shown, rest) = all[from..].split_at(limit.min(all.len() - from));
    let next = shown.last().filter(|_| !rest.is_empty()).map(|token| token.id.to_string());
    let now = app.now();
    Ok(axum::Json(Page { items: shown.iter().map(|token| TokenBody::of(token, now)).collect(), next }))
}

/// Makes a token
///
/// Its text is in the answer, and nowhere afterwards.
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
async fn create_token(
    State(app): State<App>,
    caller: Caller,
    Json(request): Json<TokenRequest>,
) -> Result<axum::response::Response, Problem> {
    use axum::response::IntoResponse as _;
    let config = app.config();
    caller.needs_owner(Scope::Admin, &config)?;
    let grant = TokenWish::from(request).granted(&config, &app.surroundings.now())?;
    let (token, credential) = grant.issue(&app.store, &app.surroundings).await?;
    app.tokens.forget();
    let body =
        NewTokenBody { token: credential.reveal().to_owned(), about: TokenBody::of(&token, app.now()) };
    // Whatever stands between keeps no copy of it.
    let uncached = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((StatusCode::CREATED, uncached, axum::Json(body)).into_response())
}

/// Revokes a token
///
/// From then on it opens nothing. One that was revoked before stays as it was.
#[utoipa::path(delete, path = "/api/v1/tokens/{id}", tag = "tokens", security(("bearer" = ["admin"])),
    params(("id" = String, Path, description = "The token's id, not its text.")),
    responses(
        (status = 200, body = TokenBody),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ))]
async fn revoke_token(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<axum::Json<TokenBody>, Problem> {
    caller.needs_owner(Scope::Admin, &app.config())?;
    let id = TokenId::new(&id).map_err(|bad| Problem::bad_request("bad_id", bad.to_string()))?;
    let token = app.store.revoke_token(&id, app.now()).await?;
    app.tokens.forget();
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

impl From<TokenRequest> for TokenWish {
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

impl From<BadWish> for Problem {
    fn from(bad: BadWish) -> Self {
        Self::bad_request(bad.code(), bad.to_string()).help(bad.help())
    }
}

impl From<ServerError> for Problem {
    fn from(error: ServerError) -> Self {
        match error {
            ServerError::Store(error) => error.into(),
            ServerError::Id(bad) => Self::bad_request("bad_id", bad.to_string()),
            ServerError::Listen { .. } | ServerError::Certificate { .. } | ServerError::Protocol { .. } => {
                Self::unavailable("not_listening", error.to_string())
            }
        }
    }
}
