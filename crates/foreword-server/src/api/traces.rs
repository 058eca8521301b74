//! The trace of a turn, as `foreword trace` shows it.

use axum::extract::State;
use foreword_agent::reports::request_trace::RequestTrace;
use foreword_agent::reports::turn_trace::{LAST, TurnFound, TurnTrace, turn_of_message};
use foreword_agent::reports::viewer::Viewer;
use foreword_core::id::TurnId;
use foreword_core::message::Usage;
use foreword_core::span_tree::Span;
use foreword_prompt::trust::Trust;
use foreword_store::conversations::ConversationPage;
use foreword_store::error::StoreError;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::event_body::EventBody;
use super::extract::{Path, Query};
use super::utc_time::UtcTime;
use super::viewer::{conversation_id, is_own_conversation, viewer};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// The trace of a turn or proxied request.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Trace {
    /// The turn; `null` for a proxied request.
    turn: Option<String>,
    /// The proxied request; `null` for a turn.
    request: Option<String>,
    /// Its conversation; `null` for a proxied request without one.
    session_id: Option<String>,
    /// `running`, `done`, `failed` or `cancelled`.
    #[schema(example = "done")]
    state: &'static str,
    /// Its trust; `null` for a proxied request.
    #[schema(example = "inner")]
    trust: Option<&'static str>,
    /// The node that ran it last; `null` for a proxied request.
    node: Option<String>,
    /// Number of attempts.
    attempts: u32,
    /// When it started.
    started_at: UtcTime,
    /// When it ended.
    ended_at: Option<UtcTime>,
    /// The code of its failure, as in the stream's `error`.
    #[schema(example = "config_error")]
    error_code: Option<&'static str>,
    /// The error message: the cause for the owner, a general message for other users.
    error: Option<String>,
    /// Successful model calls.
    calls: usize,
    /// Failed model calls.
    failed_calls: usize,
    /// Token usage.
    usage: UsageBody,
    /// Cost in US dollars; `null` if a price is unknown.
    cost_usd: Option<f64>,
    /// When the first span started; `null` if its events were deleted.
    began: Option<UtcTime>,
    /// From there to the end of the last span, in milliseconds.
    duration_ms: Option<u64>,
    /// The root spans, by start.
    spans: Vec<SpanBody>,
}

/// Token usage of model calls.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Usage)]
pub(crate) struct UsageBody {
    /// Input tokens not read from a cache.
    input: u64,
    /// Output tokens.
    output: u64,
    /// Input tokens read from the provider's cache.
    cache_read: u64,
    /// Input tokens written to the provider's cache.
    cache_write: u64,
    /// Those of them written for an hour.
    cache_write_1h: u64,
    /// Whether the provider did not report cache usage.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cache_unknown: bool,
}

/// A span.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Span)]
pub(crate) struct SpanBody {
    /// The type of its event, `turn`, or `wait`.
    name: String,
    /// Start in milliseconds after the first span.
    offset_ms: u64,
    /// Duration in milliseconds, children included.
    duration_ms: u64,
    /// Its events; none for a wait.
    events: Vec<EventBody>,
    /// The child spans.
    #[schema(no_recursion)]
    children: Vec<SpanBody>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TraceQuery {
    /// The conversation that `last` refers to. Default: any that you may see.
    conversation: Option<String>,
}

/// Returns the trace of a turn
///
/// `turn` is an id or `last`; for the owner also the beginning of an id. The id of a message selects its turn, and the
/// id of a proxied request (`x-foreword-request-id`) that request. Turns of other users' conversations or of a higher
/// trust are not found.
#[utoipa::path(get, path = "/api/v1/traces/{turn}", tag = "observing", security(("bearer" = ["observe"])),
    params(("turn" = String, Path, description = "The id of a turn (for the owner also the beginning of one), of a message or of a proxied request, or `last`.", example = "last"), TraceQuery),
    responses(
        (status = 200, body = Trace),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, body = Problem, content_type = "application/problem+json", description = "Several turns start with this prefix."),
    ))]
pub(crate) async fn get_trace(
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
        TurnFound::One(trace) => Ok(axum::Json(Trace::of(&trace, &viewer))),
        TurnFound::Request(request) => Ok(axum::Json(Trace::of_request(&request, &viewer))),
        TurnFound::None => Err(Problem::not_found("turn", word)
            .help("`/api/v1/events?type=turn_started` lists turns; `last` is the newest")),
        TurnFound::Several { ids, count, or_more } => {
            let or_more = if or_more { " or more" } else { "" };
            let ids: Vec<&str> = ids.iter().map(TurnId::as_str).collect();
            Err(Problem::conflict("several_turns", format!("{count}{or_more} turns start with this prefix"))
                .help(format!("use a longer prefix: {}", ids.join(", "))))
        }
    }
}

/// The conversation of the turn, if it belongs to the caller.
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
        Some(conversation) if is_own_conversation(app, caller, &conversation).await? => {
            Ok(Some(conversation))
        }
        _ => Ok(None),
    }
}

impl Trace {
    fn of(trace: &TurnTrace, viewer: &Viewer) -> Self {
        let (turn, totals, tree) = (&trace.turn, trace.totals(), trace.tree());
        let failure = turn.failure.as_ref().map(|failure| failure.visible_at(viewer.trust, turn.id.as_str()));
        let spans = tree.as_ref().map(|tree| tree.spans.clone()).unwrap_or_default();
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
            error_code: failure.as_ref().map(|failure| failure.code.as_str()),
            error: failure.map(|failure| failure.message),
            calls: totals.calls,
            failed_calls: totals.failed,
            usage: totals.usage.into(),
            cost_usd: totals.cost.known().map(foreword_core::money::Money::dollars),
            began: tree.as_ref().map(|tree| tree.began.into()),
            duration_ms: tree.as_ref().map(|tree| tree.duration_ms),
            spans: spans.into_iter().map(|span| SpanBody::of(span, viewer)).collect(),
        }
    }
}

impl Trace {
    fn of_request(request: &RequestTrace, viewer: &Viewer) -> Self {
        let (totals, tree) = (request.totals(), request.tree());
        let spans = tree.as_ref().map(|tree| tree.spans.clone()).unwrap_or_default();
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
            error_code: None,
            // The error may contain the provider's URL, so it is for the owner.
            error: request.error().filter(|_| viewer.sees_everything()).map(str::to_owned),
            calls: totals.calls,
            failed_calls: totals.failed,
            usage: totals.usage.into(),
            cost_usd: totals.cost.known().map(foreword_core::money::Money::dollars),
            began: tree.as_ref().map(|tree| tree.began.into()),
            duration_ms: tree.as_ref().map(|tree| tree.duration_ms),
            spans: spans.into_iter().map(|span| SpanBody::of(span, viewer)).collect(),
        }
    }
}

impl From<Usage> for UsageBody {
    fn from(usage: Usage) -> Self {
        let Usage { input, output, cache_read, cache_write, cache_write_1h, cache_unknown } = usage;
        Self { input, output, cache_read, cache_write, cache_write_1h, cache_unknown }
    }
}

impl SpanBody {
    fn of(span: Span, viewer: &Viewer) -> Self {
        Self {
            name: span.name,
            offset_ms: span.offset_ms,
            duration_ms: span.duration_ms,
            events: span.events.into_iter().map(|event| EventBody::stored(event, viewer)).collect(),
            children: span.children.into_iter().map(|child| Self::of(child, viewer)).collect(),
        }
    }
}
