//! The list of turns with their usage. The trace of a single turn is in `traces`.

use axum::Json;
use axum::extract::State;
use foreword_core::money::Money;
use foreword_core::turn_journal::TurnState;
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::display_line;
use foreword_store::turns::{ListedTurn, TurnFilter, TurnKey};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::cursor::{cursor, part, parts};
use super::error_responses::{CommonErrors, NotFoundError};
use super::extract::Query;
use super::pagination::{Page, PageQuery};
use super::utc_time::UtcTime;
use super::viewer::{conversation_id, time_span, viewer};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// Filters of turns.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TurnsQuery {
    /// Only those of this conversation.
    #[param(example = "c-1")]
    session: Option<String>,
    /// Only those in this state: `running`, `done`, `failed`, `cancelled`, `interrupted`.
    #[param(example = "failed")]
    state: Option<String>,
    /// Only those of this user's conversations. Users other than the owner only see their own.
    user: Option<String>,
    /// Started after: `12h`, `7d`, `today`, `2026-11-16` or a time.
    since: Option<String>,
    /// Started before.
    until: Option<String>,
}

/// A turn with its usage.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Turn)]
pub(crate) struct TurnBody {
    /// The turn's id.
    turn: String,
    /// Its conversation.
    session_id: String,
    /// The conversation's title.
    title: Option<String>,
    /// The conversation's user.
    user: Option<String>,
    /// The agent.
    agent: String,
    /// Its trust.
    #[schema(example = "inner")]
    trust: &'static str,
    /// `running`, `done`, `failed`, `cancelled`, or `interrupted`: aborted and not resumed.
    #[schema(example = "done")]
    state: &'static str,
    /// When it started.
    started_at: UtcTime,
    /// When it ended.
    ended_at: Option<UtcTime>,
    /// Duration in milliseconds.
    duration_ms: Option<u64>,
    /// The code of its failure, as in the stream's `error`.
    #[schema(example = "config_error")]
    error_code: Option<&'static str>,
    /// The error message: the cause for the owner, a general message for other users.
    error: Option<String>,
    /// Successful model calls.
    calls: u64,
    /// Failed model calls.
    failed_calls: u64,
    /// Tool calls.
    tool_calls: u64,
    /// Input tokens, cached ones included.
    tokens_in: u64,
    /// Output tokens.
    tokens_out: u64,
    /// Input tokens read from the provider's cache.
    cache_read_tokens: u64,
    /// Cost in US dollars; `null` if a price is unknown or no call succeeded.
    cost_usd: Option<f64>,
    /// The model with the most calls.
    model: Option<String>,
}

/// Lists turns, newest first
///
/// The owner sees all; other users see those of their own conversations that their trust permits. The usage is computed
/// from events, and empty after these are deleted.
#[utoipa::path(get, path = "/api/v1/turns", tag = "observing", security(("bearer" = ["observe"])),
    params(TurnsQuery, PageQuery),
    responses((status = 200, body = Page<TurnBody>), CommonErrors, NotFoundError))]
pub(crate) async fn list_turns(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<TurnsQuery>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<TurnBody>>, Problem> {
    let session = conversation_id(query.session.as_deref())?;
    let viewer = viewer(&app, &caller, session.clone()).await?;
    let (since, until) = time_span(query.since.as_deref(), query.until.as_deref(), &app)?;
    let limit = u32::try_from(page.limit()?).unwrap_or(u32::MAX);
    let mut filter = TurnFilter {
        session,
        user: query.user,
        state: query.state.as_deref().map(state).transpose()?,
        permitted_by: Some(viewer.trust),
        since,
        until,
    };
    if !viewer.sees_everything() {
        let own = filter.user.get_or_insert_with(|| caller.user().to_owned());
        // Other users' turns are not revealed.
        if own != caller.user() {
            return Ok(Json(Page { items: Vec::new(), next: None }));
        }
    }
    let after = page.after().map(key).transpose()?;
    let mut found = app.store.list_turns(filter, after, limit + 1).await?;
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let next = found.last().filter(|_| more);
    let next = next.map(|last| cursor(&[&last.started_at.to_string(), last.id.as_str()]));
    Ok(Json(Page { items: found.into_iter().map(|turn| TurnBody::of(turn, viewer.trust)).collect(), next }))
}

fn state(word: &str) -> Result<TurnState, Problem> {
    word.parse().map_err(|_| {
        let words = TurnState::ALL.map(TurnState::as_str);
        let detail = format!("unknown turn state `{}`", display_line(word, 40));
        Problem::bad_request("unknown_state", detail).help(format!("use {}", words.join(", ")))
    })
}

/// Decodes the cursor.
fn key(after: &str) -> Result<TurnKey, Problem> {
    let [at, id] = parts::<2>(after)?;
    Ok(TurnKey { started_at: part(&at)?, id: part(&id)? })
}

impl TurnBody {
    fn of(turn: ListedTurn, trust: Trust) -> Self {
        let failure = turn.failure.as_ref().map(|failure| failure.visible_at(trust, turn.id.as_str()));
        let took = turn.ended_at.map(|ended| ended.as_micros() - turn.started_at.as_micros());
        Self {
            turn: turn.id.to_string(),
            session_id: turn.conversation.to_string(),
            title: turn.title,
            user: turn.user,
            agent: turn.agent,
            trust: turn.trust.as_str(),
            state: turn.state.as_str(),
            started_at: turn.started_at.into(),
            ended_at: turn.ended_at.map(Into::into),
            // The clock may have been set back.
            duration_ms: took.map(|micros| u64::try_from(micros / 1_000).unwrap_or(0)),
            error_code: failure.as_ref().map(|failure| failure.code.as_str()),
            error: failure.map(|failure| failure.message),
            calls: turn.sums.calls,
            failed_calls: turn.sums.failed_calls,
            tool_calls: turn.sums.tool_calls,
            tokens_in: turn.sums.tokens_in,
            tokens_out: turn.sums.tokens_out,
            cache_read_tokens: turn.sums.cache_read,
            cost_usd: turn.sums.cost.map(Money::dollars),
            model: turn.sums.model,
        }
    }
}
