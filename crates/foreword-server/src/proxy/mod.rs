//! Drop-in endpoints: clients of Anthropic and OpenAI use this server by changing only their base URL. Requests and
//! responses are forwarded as bytes and recorded after the response.
//!
//! A request is matched by its path ([`route`]) and its client identified by its headers ([`client_identity`]). In
//! `observe` it is forwarded unchanged ([`forward`]). In `prepend` and `replace` the conversation's frozen prompt
//! ([`prompt_cache`]) is injected first ([`inject_prompt`]). The response is inspected while it is streamed ([`in_flight`])
//! and then recorded ([`record`]).

pub(crate) mod body;
mod budgets;
mod client_identity;
pub(crate) mod exchange;
mod form;
mod forward;
mod headers;
mod in_flight;
mod inject_prompt;
mod key_mask;
mod percent_encoding;
mod prompt_cache;
pub(crate) mod record;
mod refusal;
mod request_body;
pub(crate) mod route;
pub(crate) mod scan;
mod upstream;
mod upstream_pool;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use foreword_agent::conversation::inbound::TurnOrigin;
use foreword_core::api_token::ProxyMode;
use foreword_core::id::ConversationId;
use foreword_core::provider::WireDialect;
use foreword_prompt::trust::Trust;
use foreword_workspace::config::Config;
use http::request::Parts;
use http::{HeaderMap, Request, StatusCode};
use hyper::body::Incoming;
use tokio::time::Instant;

use self::body::RequestBody;
use self::budgets::check_budgets;
use self::client_identity::ClientIdentity;
use self::exchange::{Exchange, ExchangeOutcome, Payer};
use self::forward::{UpstreamRequest, UpstreamTimeouts, forward};
use self::in_flight::InFlight;
use self::inject_prompt::ClientPrompt;
pub(crate) use self::prompt_cache::PromptCache;
use self::record::AnswerSummary;
use self::refusal::refusal;
use self::route::{DropInRoute, NoRoute, Target};
use self::upstream::Upstream;
pub(crate) use self::upstream::Upstreams;
use crate::app::App;
use crate::auth::limits::TurnPermit;
use crate::body_timeout::TimeoutBody;
use crate::middleware::request_id;
use crate::problem::Problem;

/// The dialect of a drop-in endpoint's path.
pub(crate) fn endpoint(path: &str) -> Option<WireDialect> {
    route::dialect(path).map(|(dialect, _)| dialect)
}

/// Handles a request to one of the drop-in endpoints `routes`.
pub(crate) async fn answer(
    app: &App,
    upstreams: &Upstreams,
    routes: &[DropInRoute],
    dialect: WireDialect,
    peer: SocketAddr,
    request: Request<TimeoutBody<Incoming>>,
) -> Response {
    let (received, request_id) = (Instant::now(), request_id::generate(app));
    let (head, body) = request.into_parts();
    app.agent.refresh_workspace().await;
    let config = app.config();
    let (mut mode, mut reader) = (None, Trust::Public);
    let admitted = match target(routes, dialect, &head) {
        Ok(target) => admit(app, upstreams, &config, target, peer, &head, &mut reader).await,
        Err(problem) => Err(problem),
    };
    let answer = match admitted {
        Ok(mut admitted_request) => {
            admitted_request.spent = received.elapsed();
            mode = Some(admitted_request.mode(&config));
            forward_request(app, &config, admitted_request, &head, body, &request_id).await
        }
        Err(problem) => {
            request_body::drain(body, &head.headers).await;
            Err(problem)
        }
    };
    let response = match answer {
        Ok(response) => forward::add_request_id(response, &request_id),
        Err(problem) => refusal(dialect, &problem.visible_at(reader), &request_id),
    };
    app.traffic.proxied(dialect, mode, response.status());
    response
}

/// A request that was authenticated and admitted. Its body is not read yet.
struct AdmittedRequest<'a> {
    target: Target<'a>,
    identity: ClientIdentity,
    payer: Payer,
    admitted: Option<TurnPermit>,
    upstream: Arc<Upstream>,
    headers: HeaderMap,
    occasion: Option<TurnOrigin>,
    /// The time spent so far.
    spent: Duration,
}

impl AdmittedRequest<'_> {
    /// The mode. Requests that are not part of a conversation are always observed.
    fn mode(&self, config: &Config) -> ProxyMode {
        if self.target.route.is_turn() { self.identity.mode(config) } else { ProxyMode::Observe }
    }
}

async fn admit<'a>(
    app: &App,
    upstreams: &Upstreams,
    config: &Arc<Config>,
    target: Target<'a>,
    peer: SocketAddr,
    head: &Parts,
    reader: &mut Trust,
) -> Result<AdmittedRequest<'a>, Problem> {
    let dialect = target.dialect;
    let identity = client_identity::resolve(app, config, dialect, peer, &head.headers).await?;
    let occasion = occasion(&identity, config, &head.headers)?;
    *reader = identity.trust(config, &head.headers, occasion.as_ref());
    let upstream = upstreams.find(dialect, config, &*app.secrets)?;
    let headers = outgoing_headers(&identity, &upstream, &head.headers)?;
    let admitted = admitted(app, config, &identity, target)?;
    let payer = identity.payer(config, &head.headers, occasion.as_ref());
    Ok(AdmittedRequest {
        target,
        identity,
        payer,
        admitted,
        upstream,
        headers,
        occasion,
        spent: Duration::ZERO,
    })
}

async fn forward_request(
    app: &App,
    config: &Config,
    admitted_request: AdmittedRequest<'_>,
    head: &Parts,
    body: TimeoutBody<Incoming>,
    request_id: &str,
) -> Result<Response, Problem> {
    let mode = admitted_request.mode(config);
    let AdmittedRequest { target, identity, payer, admitted, upstream, headers, occasion, spent } =
        admitted_request;
    let body = request_body::collect(body, &head.headers, identity.max_body_bytes(config)).await?;
    let began = Instant::now();
    let mut exchange = exchange(app, payer, &upstream, target, mode, request_id);
    exchange.client_name = headers::text(&head.headers, "x-foreword-conversation").map(Into::into);
    if target.route.costs() {
        check_budgets(app, &exchange.payer, None).await?;
    }
    let body = match (ClientPrompt::of(mode), occasion) {
        (Some(client_prompt), Some(occasion)) => {
            let injection =
                Injection { app, dialect: target.dialect, client_prompt, provider: &upstream.name };
            Box::pin(inject_prompt(injection, occasion, body, &mut exchange)).await?
        }
        _ => body,
    };
    exchange.request = body.clone();
    exchange.overhead = spent;
    let conversation = exchange.conversation.clone();
    let outgoing = UpstreamRequest {
        uri: upstream.uri(target.rest, headers::without_tokens(head.uri.query()).as_deref())?,
        retries: forward::retries(&head.headers, config.proxy.max_retries),
        policy: &config.retry,
        timeouts: UpstreamTimeouts::of(&head.headers, &config.proxy),
        method: head.method.clone(),
        headers,
        body,
    };
    let in_flight = InFlight::new(app, exchange, began).with_permit(admitted);
    let response = forward(app, &upstream, target.dialect, outgoing, in_flight).await?;
    Ok(add_conversation_header(response, conversation.as_ref()))
}

fn target<'a>(routes: &[DropInRoute], dialect: WireDialect, head: &'a Parts) -> Result<Target<'a>, Problem> {
    let (_, rest) = route::dialect(head.uri.path()).unwrap_or((dialect, ""));
    let path = || foreword_prompt::untrusted::display_line(head.uri.path(), 120);
    route::target(routes, dialect, &head.method, rest).map_err(|error| match error {
        NoRoute::Unknown => Problem::not_found("route", &path())
            .help(format!("there are {}", route::supported(routes, dialect))),
        NoRoute::Method(wanted) => Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            format!("`{}` only accepts {wanted}", path()),
        ),
    })
}

/// Counts the request against the rate limit, and takes a turn permit if it calls a model. Clients with their own
/// provider key are not limited.
fn admitted(
    app: &App,
    config: &Config,
    identity: &ClientIdentity,
    target: Target<'_>,
) -> Result<Option<TurnPermit>, Problem> {
    let (ClientIdentity::Caller(caller), limits) = (identity, &config.server.limits) else { return Ok(None) };
    if target.route.costs() {
        return Ok(Some(app.limits.admit(caller.api_token(), limits)?));
    }
    app.limits.count_request(caller.api_token(), limits)?;
    Ok(None)
}

/// The client's headers for the provider, and the owner's credentials.
fn outgoing_headers(
    identity: &ClientIdentity,
    upstream: &Upstream,
    headers: &HeaderMap,
) -> Result<HeaderMap, Problem> {
    let mut outgoing = headers::to_provider(headers);
    match identity {
        ClientIdentity::Caller(_) => {
            for (name, value) in upstream.credentials()? {
                headers::set_owner_header(&mut outgoing, name, value);
            }
        }
        ClientIdentity::ProviderKey { key: (name, value), .. } => {
            outgoing.insert(name.clone(), value.clone());
        }
    }
    Ok(outgoing)
}

/// The occasion of the request. Asserting another user without permission is refused in every mode.
fn occasion(
    identity: &ClientIdentity,
    config: &Config,
    headers: &HeaderMap,
) -> Result<Option<TurnOrigin>, Problem> {
    match identity {
        ClientIdentity::Caller(caller) => {
            let is_needed = identity.mode(config) != ProxyMode::Observe
                || prompt_cache::ASSERTION_HEADERS.iter().any(|name| headers.contains_key(*name));
            is_needed.then(|| prompt_cache::occasion(caller, config, headers)).transpose()
        }
        ClientIdentity::ProviderKey { .. } => Ok(None),
    }
}

fn exchange(
    app: &App,
    payer: Payer,
    upstream: &Upstream,
    target: Target<'_>,
    mode: ProxyMode,
    request_id: &str,
) -> Exchange {
    Exchange {
        payer,
        route: target.route,
        dialect: target.dialect,
        provider: Arc::clone(&upstream.name),
        mode,
        client_name: None,
        conversation: None,
        epoch: None,
        request_id: request_id.to_owned(),
        request: Bytes::new(),
        began: app.now(),
        first_byte: None,
        took: Duration::ZERO,
        overhead: Duration::ZERO,
        status: None,
        upstream_request_id: None,
        outcome: ExchangeOutcome::ClientDisconnected,
        retries: 0,
        summary: AnswerSummary::default(),
    }
}

/// The arguments of [`inject_prompt`].
#[derive(Clone, Copy)]
struct Injection<'a> {
    app: &'a App,
    dialect: WireDialect,
    client_prompt: ClientPrompt,
    provider: &'a str,
}

/// Injects the conversation's prompt into the body. Sets the conversation and epoch of `exchange`.
async fn inject_prompt(
    Injection { app, dialect, client_prompt, provider }: Injection<'_>,
    mut occasion: TurnOrigin,
    bytes: Bytes,
    exchange: &mut Exchange,
) -> Result<Bytes, Problem> {
    let unusable = |detail: String| Problem::bad_request("bad_body", format!("invalid body: {detail}"));
    let body = RequestBody::read(&bytes).map_err(|error| unusable(error.to_string()))?;
    let Some(model) = body.model() else {
        return Err(unusable("`model` is missing or not a string".to_owned()));
    };
    form::check(&body, dialect).map_err(|error| unusable(error.to_string()))?;
    occasion.speaker.model = Some(format!("{provider}/{model}").into());
    let client_name = exchange.client_name.as_deref();
    let conversation = app.recording.thread(app, &exchange.payer, dialect, &body, client_name).await?;
    check_budgets(app, &exchange.payer, Some(&conversation)).await?;
    let prompt = app.prompt_cache.find(app, dialect, &conversation, occasion).await?;
    let injected = inject_prompt::inject(&body, dialect, &prompt.blocks, client_prompt)
        .map_err(|error| unusable(error.to_string()))?;
    (exchange.conversation, exchange.epoch) = (Some(conversation), Some(prompt.epoch));
    Ok(injected.into())
}

fn add_conversation_header(mut response: Response, conversation: Option<&ConversationId>) -> Response {
    let value = conversation.and_then(|conversation| conversation.as_str().parse().ok());
    if let Some(value) = value {
        response.headers_mut().insert("x-foreword-conversation", value);
    }
    response
}
