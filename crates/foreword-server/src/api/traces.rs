//! One turn as the tree it happened in: what `foreword trace` shows.

use axum::extract::State;
use foreword_agent::request_trace::RequestTrace;
use foreword_agent::turn_trace::{LAST, TurnFound, TurnTrace, turn_of_message};
use foreword_core::id::TurnId;
use foreword_core::message::Usage;
use foreword_core::span_tree::Span;
use foreword_prompt::trust::Trust;
use foreword_store::conversations::ConversationPage;
use foreword_store::error::StoreError;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::event_body::EventBody;
use super::extract::{Path, Query};
use super::looking::{conversation_id, is_theirs, viewer};
use super::moment::Moment;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_trace))
}

/// A turn, with everything that is on record of it.
#[derive(Debug, Serialize, ToSchema)]
struct Trace {
    /// The turn; `null` for a proxied request.
    turn: Option<String>,
    /// The proxied request; `null` for a turn.
    request: Option<String>,
    /// Its conversation; `null` for a proxied request that joined none.
    session_id: Option<String>,
    /// `running`, `done`, `failed` or `cancelled`.
    #[schema(example = "done")]
    state: &'static str,
    /// The trust it had; `null` for a proxied request.
    #[schema(example = "inner")]
    trust: Option<&'static str>,
    /// The node that ran it last; `null` for a proxied request.
    node: Option<String>,
    /// How often it was begun.
    attempts: u32,
    /// When it was begun.
    started_at: Moment,
    /// When it ended.
    ended_at: Option<Moment>,
    /// Why it failed.
    error: Option<String>,
    /// Answered calls to models.
    calls: usize,
    /// Failed ones.
    failed_calls: usize,
    /// Tokens.
    usage: UsageBody,
    /// What it cost, in US dollars; `null` if a price is not known.
    cost_usd: Option<f64>,
    /// When the first span began; `null` if its events are gone.
    began: Option<Moment>,
    /// From there to the end of the last.
    duration_ms: Option<u64>,
    /// What is part of nothing else, by when it began.
    spans: Vec<SpanBody>,
}

/// Tokens of calls to models.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Usage)]
struct UsageBody {
    /// Read, and in no cache.
    input: u64,
    /// Written.
    output: u64,
    /// Read from the provider's cache.
    cache_read: u64,
    /// Written to the provider's cache.
    cache_write: u64,
    /// Of those, kept there for an hour.
    cache_write_1h: u64,
    /// Whether the provider did not say what came from its cache.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cache_unknown: bool,
}

/// Something that took its time, and its parts.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Span)]
struct SpanBody {
    /// The type of its event, `turn`, or `wait`.
    name: String,
    /// How long after the first began.
    offset_ms: u64,
    /// How long it took, its parts included.
    duration_ms: u64,
    /// What is known of it; nothing of a wait.
    events: Vec<EventBody>,
    /// Its parts.
    #[schema(no_recursion)]
    children: Vec<SpanBody>,
}

/// Where to look for it.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct TraceQuery {
    /// The conversation that `last` is meant of. Default: any that you may see.
    conversation: Option<String>,
}

/// One turn as the tree it happened in
///
/// `turn` is an id or `last`; the owner's may be the beginning of an id. The id of a message stands for its turn, and the id of
/// a proxied request (`x-foreword-request-id`) for that request. A turn of somebody else's conversation, or of a higher
/// trust, is not there.
#[utoipa::path(get, path = "/api/v1/traces/{turn}", tag = "observing", security(("bearer" = ["observe"])),
    params(("turn" = String, Path, description = "The id of a turn (for the owner also the beginning of one), of a message or of a proxied request, or `last`.", example = "last"), TraceQuery),
    responses(
        (status = 200, body = Trace),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, body = Problem, content_type = "application/problem+json", description = "Several turns begin like that."),
    ))]
async fn get_trace(
    State(app): State<App>,
    caller: Caller,
    Path(turn): Path<String>,
    Query(query): Query<TraceQuery>,
) -> Result<axum::Json<Trace>, Problem> {
    let word = turn.trim();
    let mut viewer = viewer(&app, &caller, conversation_id(query.conversation.as_deref())?).await?;
    if viewer.conversation.is_none() && !viewer.trust.permits(Trust::Full) {
        viewer.conversation = own_conversation(&app, &caller, word).await?;
    }
    match TurnTrace::named(&viewer, word).await? {
        TurnFound::One(trace) => Ok(axum::Json(Trace::of(&trace))),
        TurnFound::Request(request) => Ok(axum::Json(Trace::of_request(&request))),
        TurnFound::None => Err(Problem::not_found("turn", word)
            .help("`/api/v1/events?type=turn_started` lists turns; `last` is the newest")),
        TurnFound::Several { ids, count, or_more } => {
            let or_more = if or_more { " or more" } else { "" };
            let ids: Vec<&str> = ids.iter().map(TurnId::as_str).collect();
            Err(Problem::conflict("several_turns", format!("{count}{or_more} turns begin like that"))
                .help(format!("write more of it: {}", ids.join(", "))))
        }
    }
}

/// The conversation of the turn that somebody who is no owner means, if it is theirs.
async fn own_conversation(
    app: &App,
    caller: &Caller,
    word: &str,
) -> Result<Option<foreword_core::id::ConversationId>, Problem> {
    if word == LAST {
        let newest = ConversationPage::first(1).of_user(caller.user());
        return Ok(app.store.conversations(newest).await?.pop().map(|found| found.id));
    }
    let Ok(id) = TurnId::new(word) else { return Ok(None) };
    let conversation = match app.store.turn(&id).await {
        Ok(turn) => Some(turn.conversation),
        Err(StoreError::NotFound { .. }) => match turn_of_message(&app.store, word).await? {
            Some(turn) => Some(turn.conversation),
            None => RequestTrace::conversation_of(&app.store, word).await?,
        },
        Err(error) => return Err(error.into()),
    };
    match conversation {
        Some(conversation) if is_theirs(app, caller, &conversation).await? => Ok(Some(conversation)),
        _ => Ok(None),
    }
}

impl Trace {
    fn of(trace: &TurnTrace) -> Self {
        let (turn, totals, tree) = (&trace.turn, trace.totals(), trace.tree());
        Self {
            turn: Some(turn.id.to_string()),
            request: None,
            session_id: Some(turn.conversation.to_string()),
            state: turn.state.as_str(),
            trust: Some(turn.trust.as_str()),
            node: Some(turn.holder.to_string()),
            attempts: turn.attempts,
            started_at: turn.started_at.into(),
            ended_at: turn.ended_at.map(Into::into),
            error: turn.error.clone(),
            calls: totals.calls,
            failed_calls: totals.failed,
            usage: totals.usage.into(),
            cost_usd: totals.cost.known().map(foreword_core::money::Money::dollars),
            began: tree.as_ref().map(|tree| tree.began.into()),
            duration_ms: tree.as_ref().map(|tree| tree.duration_ms),
            spans: tree.map(|tree| tree.spans).unwrap_or_default().into_iter().map(Into::into).collect(),
        }
    }
}

impl Trace {
    fn of_request(request: &RequestTrace) -> Self {
        let (totals, tree) = (request.totals(), request.tree());
        Self {
            turn: None,
            request: Some(request.request.clone()),
            session_id: request.conversation.as_ref().map(ToString::to_string),
            state: request.state(),
            trust: None,
            node: None,
            attempts: 1,
            started_at: request.started_at.into(),
            ended_at: None,
            error: request.error().map(str::to_owned),
            calls: totals.calls,
            failed_calls: totals.failed,
            usage: totals.usage.into(),
            cost_usd: totals.cost.known().map(foreword_core::money::Money::dollars),
            began: tree.as_ref().map(|tree| tree.began.into()),
            duration_ms: tree.as_ref().map(|tree| tree.duration_ms),
            spans: tree.map(|tree| tree.spans).unwrap_or_default().into_iter().map(Into::into).collect(),
        }
    }
}

impl From<Usage> for UsageBody {
    fn from(usage: Usage) -> Self {
        let Usage { input, output, cache_read, cache_write, cache_write_1h, cache_unknown } = usage;
        Self { input, output, cache_read, cache_write, cache_write_1h, cache_unknown }
    }
}

impl From<Span> for SpanBody {
    fn from(span: Span) -> Self {
        Self {
            name: span.name,
            offset_ms: span.offset_ms,
            duration_ms: span.duration_ms,
            events: span.events.into_iter().map(Into::into).collect(),
            children: span.children.into_iter().map(Into::into).collect(),
        }
    }
}
