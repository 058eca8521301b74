//! The event log, as `foreword logs` shows it.

use axum::extract::State;
use foreword_core::event::Level;
use foreword_core::id::TurnId;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::untrusted::display_line;
use foreword_store::events::{EventFilter, EventKey};
use serde::Deserialize;
use utoipa::IntoParams;

use super::event_body::EventBody;
use super::extract::Query;
use super::pagination::{Page, PageQuery};
use super::viewer::{conversation_id, time_span, viewer_of_conversation};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// Filters of events.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsQuery {
    /// Only those of this conversation. Required for everyone but the owner, who must name one of their own.
    #[param(example = "c-1")]
    session: Option<String>,
    /// The minimum level: `debug`, `info`, `warn`, `error`.
    #[param(example = "warn")]
    level: Option<String>,
    /// Only those of this type.
    #[serde(rename = "type")]
    #[param(rename = "type", example = "api_call")]
    event_type: Option<String>,
    /// Only those of this user.
    user: Option<String>,
    /// Only those of this channel.
    channel: Option<String>,
    /// Only those of this turn.
    turn: Option<String>,
    /// Start of the period: `12h`, `7d`, `today`, `2026-11-16` or a time.
    since: Option<String>,
    /// End of the period.
    until: Option<String>,
}

/// Lists events, newest first
///
/// Same format as `foreword --json logs`. The owner sees all; other users see those of their own conversations that
/// their trust permits.
#[utoipa::path(get, path = "/api/v1/events", tag = "observing", security(("bearer" = ["observe"])),
    params(EventsQuery, PageQuery),
    responses(
        (status = 200, body = Page<EventBody>),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn list_events(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<EventsQuery>,
    Query(page): Query<PageQuery>,
) -> Result<axum::Json<Page<EventBody>>, Problem> {
    let session = conversation_id(query.session.as_deref())?;
    let viewer = viewer_of_conversation(&app, &caller, session.clone()).await?;
    let turn = query.turn.as_deref().map(TurnId::new).transpose();
    let (since, until) = time_span(query.since.as_deref(), query.until.as_deref(), &app)?;
    let filter = EventFilter {
        session,
        levels: levels(query.level.as_deref())?,
        event_type: query.event_type.map(Into::into),
        user: query.user,
        channel: query.channel,
        turn: turn.map_err(|bad| Problem::bad_request("invalid_id", bad.to_string()))?,
        since,
        until,
        ..EventFilter::default()
    };
    let limit = usize::try_from(page.limit()?).unwrap_or(usize::MAX);
    let seen = viewer.page(filter, limit, page.after().map(key).transpose()?).await?;
    let next = seen.next.map(|key| format!("{}-{}", key.timestamp.as_micros(), key.id));
    let items = seen.events.into_iter().map(|event| EventBody::stored(event, &viewer)).collect();
    Ok(axum::Json(Page { items, next }))
}

/// The given level and higher ones.
fn levels(word: Option<&str>) -> Result<Vec<Level>, Problem> {
    let Some(word) = word else { return Ok(Vec::new()) };
    let Ok(least) = word.parse::<Level>() else {
        let words = Level::ALL.map(Level::as_str);
        let help = match did_you_mean(word, words) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("use {}", words.join(", ")),
        };
        let detail = format!("there is no level `{}`", display_line(word, 40));
        return Err(Problem::bad_request("unknown_level", detail).help(help));
    };
    Ok(Level::ALL.into_iter().filter(|level| *level >= least).collect())
}

/// Decodes the cursor.
fn key(after: &str) -> Result<EventKey, Problem> {
    let read = || {
        let (micros, id) = after.rsplit_once('-')?;
        Some(EventKey { timestamp: Timestamp::from_micros(micros.parse().ok()?), id: id.parse().ok()? })
    };
    read().ok_or_else(|| Problem::bad_request("bad_cursor", "`after` is not a valid cursor of this list"))
}
