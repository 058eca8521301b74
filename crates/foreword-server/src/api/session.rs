//! Login sessions of the web page: exchanges a token, or the code of a one-time link, for an `HttpOnly` cookie.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use foreword_core::api_token::Scope;
use foreword_prompt::trust::Trust;
use foreword_store::tokens::ApiToken;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::error_responses::CommonErrors;
use super::extract;
use super::utc_time::UtcTime;
use crate::app::App;
use crate::auth::credential::Credential;
use crate::auth::{Caller, LINK_TOKEN_NAME, cookie, find_caller, from_allowed_page, unauthorized};
use crate::problem::Problem;

pub(crate) const MAX_BODY_BYTES: usize = 4 * 1024;

/// The credential: either of the two.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignIn {
    /// The code of a one-time link.
    code: Option<String>,
    /// A token.
    token: Option<String>,
}

/// The login session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Session {
    /// The user.
    user: String,
    /// The user's trust.
    #[schema(value_type = String, example = "full")]
    trust: Trust,
    /// The token's scopes.
    #[schema(value_type = Vec<String>, example = json!(["chat", "observe"]))]
    scopes: BTreeSet<Scope>,
    /// Whether this is the owner.
    owner: bool,
    /// When it expires, if it does.
    expires_at: Option<UtcTime>,
}

impl Session {
    fn of(caller: &Caller, app: &App) -> Self {
        let trust = caller.trust(&app.config());
        Self {
            user: caller.user().to_owned(),
            trust,
            scopes: caller.scopes().clone(),
            owner: trust == Trust::Full,
            expires_at: caller.api_token().validity.expires_at.map(Into::into),
        }
    }
}

/// Signs in: exchanges a token, or the code of a one-time link, for a cookie. Only from this server's page.
#[utoipa::path(post, path = "/api/v1/session", tag = "page", request_body = SignIn, security(()),
    responses((status = 200, description = "Signed in; the cookie is in the header `Set-Cookie`.", body = Session),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 408, body = Problem), (status = 413, body = Problem), (status = 415, body = Problem),
        (status = 422, body = Problem), (status = 503, body = Problem)))]
pub(crate) async fn sign_in(
    State(app): State<App>,
    headers: HeaderMap,
    extract::Json(sent): extract::Json<SignIn>,
) -> Result<Response, Problem> {
    let config = app.config();
    if !from_allowed_page(&headers, &config.server) {
        return Err(Problem::forbidden("foreign_origin", "the origin of this page is not allowed")
            .help("add it to `server.origins` in foreword.yaml, if it is yours"));
    }
    let (caller, credential) = match sent {
        SignIn { token: Some(token), code: None } => with_token(&app, &token).await?,
        SignIn { code: Some(code), token: None } => with_code(&app, &code).await?,
        _ => return Err(Problem::bad_request("one_of_two", "send either `token` or `code`")),
    };
    let cookie = cookie::set_cookie(&credential, &headers, &config.server);
    Ok(with_cookie(Json(Session::of(&caller, &app)).into_response(), &cookie))
}

async fn with_token(app: &App, text: &str) -> Result<(Caller, Credential), Problem> {
    let Some(credential) = Credential::read(text.trim()) else {
        return Err(unauthorized("malformed token: a token starts with `fwd_` and has 36 characters"));
    };
    Ok((find_caller(app, &credential).await?, credential))
}

async fn with_code(app: &App, code: &str) -> Result<(Caller, Credential), Problem> {
    let Some(spec) = app.page_links.take(code, app.now()) else {
        let detail = "invalid link: it was used, is older than an hour, or the server was restarted";
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "link_used", detail)
            .help("`foreword serve` prints a new one when it starts; a token from `foreword token create` works too"));
    };
    let grant = spec.grant(&app.config(), &app.clock_and_rng.now());
    let grant = grant.map_err(|bad| Problem::bad_request(bad.code(), bad.to_string()).help(bad.help()))?;
    let (token, credential) = grant.issue(&app.store, &app.clock_and_rng).await?;
    Ok((Caller::of(std::sync::Arc::new(token)), credential))
}

/// Returns the login session. With any token.
#[utoipa::path(get, path = "/api/v1/session", tag = "page", responses((status = 200, body = Session), CommonErrors))]
pub(crate) async fn get_session(State(app): State<App>, caller: Caller) -> Json<Session> {
    Json(Session::of(&caller, &app))
}

/// Signs out: removes the cookie. The token of a one-time link is revoked, since no one else has it.
#[utoipa::path(delete, path = "/api/v1/session", tag = "page",
    responses((status = 204, description = "Signed out."), CommonErrors))]
pub(crate) async fn sign_out(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if is_link_token(caller.api_token()) {
        app.store.revoke_token(caller.token(), app.now()).await?;
        app.tokens.clear();
    }
    let cookie = cookie::clear_cookie(&headers, &app.config().server);
    Ok(with_cookie(StatusCode::NO_CONTENT.into_response(), &cookie))
}

fn is_link_token(token: &ApiToken) -> bool {
    token.name == LINK_TOKEN_NAME
}

fn with_cookie(mut response: Response, cookie: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
