//! Drop-in endpoints: a client that speaks to Anthropic or OpenAI speaks to them through here, with nothing changed but its
//! address. What passes is forwarded as bytes; what is recorded is recorded after the answer.
//!
//! The way of a request: its path says what it is for ([`route`]), its head whose it is ([`who`]). In `observe` its bytes go on
//! untouched ([`forward`]). In `prepend` and `replace` the conversation's frozen prompt ([`words`]) is put in before
//! ([`splice`]). While the answer passes ([`flight`]), somebody looks at it; when it is over, it is noted ([`record`]).

pub(crate) mod body;
mod budgets;
pub(crate) mod exchange;
mod flight;
mod form;
mod forward;
mod headers;
mod incoming;
pub(crate) mod record;
mod refusal;
pub(crate) mod route;
pub(crate) mod scan;
mod splice;
mod upstream;
mod who;
mod words;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::response::Response;
use bytes::Bytes;
use foreword_agent::inbound::Occasion;
use foreword_core::api_token::ProxyMode;
use foreword_core::id::ConversationId;
use foreword_core::provider::WireDialect;
use foreword_workspace::config::Config;
use http::request::Parts;
use http::{HeaderMap, Request, StatusCode};
use hyper::body::Incoming;

use self::body::RequestBody;
pub(crate) use self::budgets::Budgets;
use self::exchange::{Exchange, Outcome, Payer};
use self::flight::Flight;
use self::forward::{Outgoing, Waits, forward};
use self::record::Tapped;
use self::refusal::refusal;
use self::route::{NoRoute, Target};
use self::splice::Theirs;
use self::upstream::Upstream;
pub(crate) use self::upstream::Upstreams;
use self::who::Who;
pub(crate) use self::words::KeptWords;
use crate::app::App;
use crate::auth::limits::Admitted;
use crate::body_clock::Timed;
use crate::problem::Problem;
use crate::request_id;

/// Whose endpoint a path belongs to, if it is a drop-in endpoint.
pub(crate) fn endpoint(path: &str) -> Option<WireDialect> {
    route::dialect(path).map(|(dialect, _)| dialect)
}

/// Answers a request to a drop-in endpoint.
pub(crate) async fn answer(
    app: &App,
    dialect: WireDialect,
    peer: SocketAddr,
    request: Request<Timed<Incoming>>,
) -> Response {
    let (came, request_id) = (Instant::now(), request_id::fresh(app));
    let (head, body) = request.into_parts();
    app.agent.attend().await;
    let config = app.config();
    let mut mode = None;
    let answer = match enter(app, &config, dialect, (peer, &head)).await {
        Ok(mut entered) => {
            entered.spent = came.elapsed();
            mode = Some(entered.mode(&config));
            pass(app, &config, entered, (&head, body, &request_id)).await
        }
        Err(problem) => {
            incoming::drain(body, &head.headers).await;
            Err(problem)
        }
    };
    let response = match answer {
        Ok(response) => forward::named(response, &request_id),
        Err(problem) => refusal(dialect, &problem, &request_id),
    };
    app.traffic.proxied(dialect, mode, response.status());
    response
}

/// A request that was let in, before its body is looked at.
struct Entered<'a> {
    target: Target<'a>,
    who: Who,
    payer: Payer,
    admitted: Option<Admitted>,
    upstream: Arc<Upstream>,
    headers: HeaderMap,
    occasion: Option<Occasion>,
    /// The time that took.
    spent: Duration,
}

impl Entered<'_> {
    /// What is done with it: what belongs to no conversation passes as it is.
    fn mode(&self, config: &Config) -> ProxyMode {
        if self.target.route.is_turn() { self.who.mode(config) } else { ProxyMode::Observe }
    }
}

async fn enter<'a>(
    app: &App,
    config: &Arc<Config>,
    dialect: WireDialect,
    (peer, head): (SocketAddr, &'a Parts),
) -> Result<Entered<'a>, Problem> {
    let target = target(dialect, head)?;
    let who = who::who(app, config, dialect, (peer, &head.headers)).await?;
    let occasion = occasion(&who, config, &head.headers)?;
    let upstream = app.upstreams.find(dialect, config, &*app.secrets)?;
    let headers = outgoing_headers(&who, &upstream, &head.headers)?;
    let admitted = admitted(app, config, &who, target)?;
    let payer = who.payer(config, &head.headers, occasion.as_ref());
    Ok(Entered { target, who, payer, admitted, upstream, headers, occasion, spent: Duration::ZERO })
}

async fn pass(
    app: &App,
    config: &Config,
    entered: Entered<'_>,
    (head, body, request_id): (&Parts, Timed<Incoming>, &str),
) -> Result<Response, Problem> {
    let mode = entered.mode(config);
    let Entered { target, who, payer, admitted, upstream, headers, occasion, spent } = entered;
    let body = incoming::collect(body, &head.headers, who.largest_body(config)).await?;
    let began = Instant::now();
    let mut exchange = exchange(app, (payer, &upstream), target, (mode, request_id));
    exchange.named = headers::text(&head.headers, "x-foreword-conversation").map(Into::into);
    if target.route.costs() {
        app.budgets.check(app, &exchange.payer, None).await?;
    }
    let body = match (Theirs::of(mode), occasion) {
        (Some(theirs), Some(occasion)) => {
            let with = With { app, dialect: target.dialect, theirs, provider: &upstream.name };
            Box::pin(with_our_words(with, occasion, body, &mut exchange)).await?
        }
        _ => body,
    };
    exchange.request = body.clone();
    exchange.overhead = spent;
    let conversation = exchange.conversation.clone();
    let outgoing = Outgoing {
        uri: upstream.uri(target.rest, head.uri.query())?,
        retries: forward::retries(&head.headers, config.proxy.max_retries),
        policy: &config.retry,
        waits: Waits::of(&head.headers, &config.proxy),
        method: head.method.clone(),
        headers,
        body,
    };
    let flight = Flight::new(app, exchange, began).holding(admitted);
    let response = forward(app, (&upstream, target.dialect), outgoing, flight).await?;
    Ok(joined(response, conversation.as_ref()))
}

fn target(dialect: WireDialect, head: &Parts) -> Result<Target<'_>, Problem> {
    let (_, rest) = route::dialect(head.uri.path()).unwrap_or((dialect, ""));
    let path = || foreword_prompt::untrusted::display_line(head.uri.path(), 120);
    route::target(dialect, &head.method, rest).map_err(|error| match error {
        NoRoute::Unknown => {
            Problem::not_found("route", &path()).help(format!("there are {}", route::known(dialect)))
        }
        NoRoute::Method(wanted) => Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            format!("`{}` takes only {wanted}", path()),
        ),
    })
}

/// Counts the request, and takes a turn if a model is asked. Whoever pays with a key of their own is not counted.
fn admitted(app: &App, config: &Config, who: &Who, target: Target<'_>) -> Result<Option<Admitted>, Problem> {
    let (Who::Caller(caller), limits) = (who, &config.server.limits) else { return Ok(None) };
    if target.route.costs() {
        return Ok(Some(app.limits.admit(caller.api_token(), limits)?));
    }
    app.limits.count_request(caller.api_token(), limits)?;
    Ok(None)
}

/// The client's headers without what is not the provider's business, and the credential that opens its door.
fn outgoing_headers(who: &Who, upstream: &Upstream, headers: &HeaderMap) -> Result<HeaderMap, Problem> {
    let mut outgoing = headers::to_provider(headers);
    match who {
        Who::Caller(_) => {
            for (name, value) in upstream.credentials()? {
                headers::put(&mut outgoing, name, value);
            }
        }
        Who::Own { key: (name, value), .. } => {
            outgoing.insert(name.clone(), value.clone());
        }
    }
    Ok(outgoing)
}

/// The occasion a caller speaks on. Whoever says who somebody is without being allowed to is refused in every mode.
fn occasion(who: &Who, config: &Config, headers: &HeaderMap) -> Result<Option<Occasion>, Problem> {
    match who {
        Who::Caller(caller) => {
            let is_said = who.mode(config) != ProxyMode::Observe
                || words::SAYS.iter().any(|name| headers.contains_key(*name));
            is_said.then(|| words::occasion(caller, config, headers)).transpose()
        }
        Who::Own { .. } => Ok(None),
    }
}

fn exchange(
    app: &App,
    (payer, upstream): (Payer, &Upstream),
    target: Target<'_>,
    (mode, request_id): (ProxyMode, &str),
) -> Exchange {
    Exchange {
        payer,
        route: target.route,
        dialect: target.dialect,
        provider: Arc::clone(&upstream.name),
        mode,
        named: None,
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
        outcome: Outcome::ClientWentAway,
        retries: 0,
        tapped: Tapped::default(),
    }
}

/// What our words are put in for.
#[derive(Clone, Copy)]
struct With<'a> {
    app: &'a App,
    dialect: WireDialect,
    theirs: Theirs,
    provider: &'a str,
}

/// The body with our words in it; says in `exchange` which conversation and epoch they are of.
async fn with_our_words(
    With { app, dialect, theirs, provider }: With<'_>,
    mut occasion: Occasion,
    bytes: Bytes,
    exchange: &mut Exchange,
) -> Result<Bytes, Problem> {
    let unusable =
        |detail: String| Problem::bad_request("bad_body", format!("the body can't be used: {detail}"));
    let body = RequestBody::read(&bytes).map_err(|error| unusable(error.to_string()))?;
    let Some(model) = body.model() else { return Err(unusable("`model` is missing or no text".to_owned())) };
    form::check(&body, dialect).map_err(|error| unusable(error.to_string()))?;
    occasion.model = Some(format!("{provider}/{model}").into());
    let named = exchange.named.as_deref();
    let conversation = app.recording.thread(app, &exchange.payer, dialect, (&body, named)).await?;
    app.budgets.check(app, &exchange.payer, Some(&conversation)).await?;
    let ours = app.kept_words.find(app, dialect, (&conversation, occasion)).await?;
    let spliced =
        splice::splice(&body, dialect, &ours.words, theirs).map_err(|error| unusable(error.to_string()))?;
    (exchange.conversation, exchange.epoch) = (Some(conversation), Some(ours.epoch));
    Ok(spliced.into())
}

/// Tells the client which conversation its request has joined.
fn joined(mut response: Response, conversation: Option<&ConversationId>) -> Response {
    let value = conversation.and_then(|conversation| conversation.as_str().parse().ok());
    if let Some(value) = value {
        response.headers_mut().insert("x-foreword-conversation", value);
    }
    response
}
