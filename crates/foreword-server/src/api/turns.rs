//! Turns as a list, of whichever conversations, with what each came to. One of them as a tree is in `traces`.

use axum::Json;
use axum::extract::State;
use foreword_core::money::Money;
use foreword_core::turn_journal::TurnState;
use foreword_prompt::untrusted::display_line;
use foreword_store::turns::{ListedTurn, TurnFilter, TurnKey};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::cursor::{cursor, part, parts};
use super::extract::Query;
use super::looking::{between, conversation_id, viewer};
use super::moment::Moment;
use super::paging::{Page, PageQuery};
use super::refusals::{NotThere, Refusals};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_turns))
}

/// Which turns.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct TurnsQuery {
    /// Those of this conversation.
    #[param(example = "c-1")]
    session: Option<String>,
    /// Those that stand like this: `running`, `done`, `failed`, `cancelled`, `interrupted`.
    #[param(example = "failed")]
    state: Option<String>,
    /// Those in conversations of this user; whoever is not the owner sees their own anyway.
    user: Option<String>,
    /// Begun not before: `12h`, `7d`, `today`, `2026-11-16` or a time.
    since: Option<String>,
    /// Begun before.
    until: Option<String>,
}

/// A turn, and what it came to.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Turn)]
struct TurnBody {
    /// The turn.
    turn: String,
    /// Its conversation.
    session_id: String,
    /// What people call that.
    title: Option<String>,
    /// Whose conversation it is.
    user: Option<String>,
    /// The agent that talks there.
    agent: String,
    /// The trust it had.
    #[schema(example = "inner")]
    trust: &'static str,
    /// `running`, `done`, `failed`, `cancelled`, or `interrupted`: cut off, and not to be run again.
    #[schema(example = "done")]
    state: &'static str,
    /// When it was begun.
    started_at: Moment,
    /// When it ended.
    ended_at: Option<Moment>,
    /// From there to there.
    duration_ms: Option<u64>,
    /// Why it failed.
    error: Option<String>,
    /// Answered calls to models.
    calls: u64,
    /// Failed ones.
    failed_calls: u64,
    /// Calls of tools.
    tool_calls: u64,
    /// Tokens read, from wherever.
    tokens_in: u64,
    /// Tokens written.
    tokens_out: u64,
    /// Of those read, how many were in the provider's cache.
    cache_read_tokens: u64,
    /// What it cost, in US dollars; `null` if a price is not known, or no call was answered.
    cost_usd: Option<f64>,
    /// The model that was called most.
    model: Option<String>,
}

/// Turns, the newest first
///
/// The owner sees all; everybody else sees those of the conversations they have begun that had a trust which theirs permits.
/// What a turn came to is taken from its events, and is nothing once they are gone.
#[utoipa::path(get, path = "/api/v1/turns", tag = "observing", security(("bearer" = ["observe"])),
    params(TurnsQuery, PageQuery),
    responses((status = 200, body = Page<TurnBody>), Refusals, NotThere))]
async fn list_turns(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<TurnsQuery>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<TurnBody>>, Problem> {
    let session = conversation_id(query.session.as_deref())?;
    let viewer = viewer(&app, &caller, session.clone()).await?;
    let (since, until) = between(query.since.as_deref(), query.until.as_deref(), &app)?;
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
        // Whether others have any is not told.
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
    Ok(Json(Page { items: found.into_iter().map(TurnBody::from).collect(), next }))
}

fn state(word: &str) -> Result<TurnState, Problem> {
    word.parse().map_err(|_| {
        let words = TurnState::ALL.map(TurnState::as_str);
        let detail = format!("no turn is `{}`", display_line(word, 40));
        Problem::bad_request("unknown_state", detail).help(format!("use {}", words.join(", ")))
    })
}

/// Where the page before ended.
fn key(after: &str) -> Result<TurnKey, Problem> {
    let [at, id] = parts::<2>(after)?;
    Ok(TurnKey { started_at: part(&at)?, id: part(&id)? })
}

impl From<ListedTurn> for TurnBody {
    fn from(turn: ListedTurn) -> Self {
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
            // A clock that was set back in between makes no time of it.
            duration_ms: took.map(|micros| u64::try_from(micros / 1_000).unwrap_or(0)),
            error: turn.error,
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
