//! Signing in with a browser: a token, or the code of a one-time link, is changed for a cookie that no script can read.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::{DefaultBodyLimit, State};
use axum::response::{IntoResponse as _, Response};
use foreword_core::api_token::Scope;
use foreword_prompt::trust::Trust;
use foreword_store::tokens::ApiToken;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract;
use super::moment::Moment;
use super::refusals::Refusals;
use crate::app::App;
use crate::auth::credential::Credential;
use crate::auth::{Caller, LINKED, cookie, from_allowed_page, known, unauthorized};
use crate::problem::Problem;

/// What is sent to sign in is short.
const LARGEST: usize = 4 * 1024;

/// Signing in, which needs no token in the head.
pub(crate) fn open_routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(open)).layer(DefaultBodyLimit::max(LARGEST))
}

/// Looking who is signed in, and signing out.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(read, close))
}

/// What somebody signs in with: one of the two.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SignIn {
    /// The code of a one-time link.
    code: Option<String>,
    /// A token.
    token: Option<String>,
}

/// Who is signed in.
#[derive(Debug, Serialize, ToSchema)]
struct Session {
    /// The user.
    user: String,
    /// How far they are trusted.
    #[schema(value_type = String, example = "full")]
    trust: Trust,
    /// What their token opens.
    #[schema(value_type = Vec<String>, example = json!(["chat", "observe"]))]
    scopes: BTreeSet<Scope>,
    /// Whether this is the owner.
    owner: bool,
    /// Until when, if it ends by itself.
    expires_at: Option<Moment>,
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

/// Signs in: changes a token, or the code of a one-time link, for a cookie. Only from a page of this server's.
#[utoipa::path(post, path = "/api/v1/session", tag = "page", request_body = SignIn, security(()),
    responses((status = 200, description = "Signed in; the cookie is in the head.", body = Session),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 408, body = Problem), (status = 413, body = Problem), (status = 415, body = Problem),
        (status = 422, body = Problem), (status = 503, body = Problem)))]
async fn open(
    State(app): State<App>,
    headers: HeaderMap,
    extract::Json(sent): extract::Json<SignIn>,
) -> Result<Response, Problem> {
    let config = app.config();
    if !from_allowed_page(&headers, &config.server) {
        return Err(Problem::forbidden("foreign_origin", "this page may not talk to this server")
            .help("name it in `server.origins` of foreword.yaml, if it is yours"));
    }
    let (caller, credential) = match sent {
        SignIn { token: Some(token), code: None } => with_token(&app, &token).await?,
        SignIn { code: Some(code), token: None } => with_code(&app, &code).await?,
        _ => return Err(Problem::bad_request("one_of_two", "send either `token` or `code`")),
    };
    let cookie = cookie::given(&credential, &headers, &config.server);
    Ok(with_cookie(Json(Session::of(&caller, &app)).into_response(), &cookie))
}

async fn with_token(app: &App, text: &str) -> Result<(Caller, Credential), Problem> {
    let Some(credential) = Credential::read(text.trim()) else {
        return Err(unauthorized("this is no token: one begins with `fwd_` and has 36 characters"));
    };
    Ok((known(app, &credential).await?, credential))
}

async fn with_code(app: &App, code: &str) -> Result<(Caller, Credential), Problem> {
    let Some(wish) = app.page_links.take(code, app.now()) else {
        let detail =
            "this link opens nothing: it was used, it is older than an hour, or the server was started anew";
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "link_used", detail)
            .help("`foreword serve` shows a new one when it starts; a token from `foreword token create` opens the page too"));
    };
    let grant = wish.granted(&app.config(), &app.surroundings.now());
    let grant = grant.map_err(|bad| Problem::bad_request(bad.code(), bad.to_string()).help(bad.help()))?;
    let (token, credential) = grant.issue(&app.store, &app.surroundings).await?;
    Ok((Caller::of(std::sync::Arc::new(token)), credential))
}

/// Who is signed in. With any token.
#[utoipa::path(get, path = "/api/v1/session", tag = "page", responses((status = 200, body = Session), Refusals))]
async fn read(State(app): State<App>, caller: Caller) -> Json<Session> {
    Json(Session::of(&caller, &app))
}

/// Signs out: takes the cookie away. The token of a one-time link, which nobody else has, is revoked.
#[utoipa::path(delete, path = "/api/v1/session", tag = "page",
    responses((status = 204, description = "Signed out."), Refusals))]
async fn close(State(app): State<App>, caller: Caller, headers: HeaderMap) -> Result<Response, Problem> {
    if is_of_a_link(caller.api_token()) {
        app.store.revoke_token(caller.token(), app.now()).await?;
        app.tokens.forget();
    }
    let cookie = cookie::taken(&headers, &app.config().server);
    Ok(with_cookie(StatusCode::NO_CONTENT.into_response(), &cookie))
}

fn is_of_a_link(token: &ApiToken) -> bool {
    token.name == LINKED
}

fn with_cookie(mut response: Response, cookie: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
