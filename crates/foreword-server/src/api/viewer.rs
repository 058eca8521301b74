//! The viewer of events and statistics, made from the caller. The owner sees everything; other users see their own
//! conversations, as their trust permits. Other conversations are not found.

use std::time::Duration;

use foreword_agent::reports::viewer::Viewer;
use foreword_core::api_token::Scope;
use foreword_core::id::ConversationId;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::trust::Trust;

use super::utc_time::parse_time;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// How long to wait for pending events to be stored.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Parses a conversation's id.
pub(crate) fn conversation_id(words: Option<&str>) -> Result<Option<ConversationId>, Problem> {
    let read = words.map(ConversationId::new).transpose();
    read.map_err(|bad| Problem::bad_request("invalid_id", bad.to_string()))
}

/// The caller as a viewer of `conversation` or, for the owner, of everything.
pub(crate) async fn viewer(
    app: &App,
    caller: &Caller,
    conversation: Option<ConversationId>,
) -> Result<Viewer, Problem> {
    caller.require(Scope::Observe)?;
    let trust = caller.trust(&app.config());
    if let Some(id) = &conversation
        && !trust.permits(Trust::Full)
        && !is_own_conversation(app, caller, id).await?
    {
        return Err(Problem::not_found("conversation", id.as_str()));
    }
    flush_events(app).await;
    let now = app.clock_and_rng.now();
    Ok(Viewer {
        store: app.store.clone(),
        trust,
        user: Some(caller.user().into()),
        conversation,
        turn: None,
        now: now.timestamp().into(),
        zone: now.time_zone().clone(),
    })
}

/// Like `viewer`, but users other than the owner must name a conversation.
pub(crate) async fn viewer_of_conversation(
    app: &App,
    caller: &Caller,
    conversation: Option<ConversationId>,
) -> Result<Viewer, Problem> {
    let viewer = viewer(app, caller, conversation).await?;
    if viewer.sees_everything() || viewer.conversation.is_some() {
        return Ok(viewer);
    }
    Err(Problem::bad_request("conversation_needed", "only the owner may read all conversations at once")
        .help("name one of your own"))
}

/// Waits until pending events are stored, with a timeout in case the store fails.
pub(crate) async fn flush_events(app: &App) {
    let _ = tokio::time::timeout(FLUSH_TIMEOUT, app.events.flush()).await;
}

/// Whether the caller started the conversation.
pub(crate) async fn is_own_conversation(
    app: &App,
    caller: &Caller,
    id: &ConversationId,
) -> Result<bool, Problem> {
    let found = app.store.conversation(id).await?;
    Ok(found.and_then(|found| found.user).as_deref() == Some(caller.user()))
}

/// Start and end of a period.
pub(crate) type TimeSpan = (Option<Timestamp>, Option<Timestamp>);

/// Parses the start and end of a period.
pub(crate) fn time_span(since: Option<&str>, until: Option<&str>, app: &App) -> Result<TimeSpan, Problem> {
    Ok((parse_time(since, app)?, parse_time(until, app)?))
}
