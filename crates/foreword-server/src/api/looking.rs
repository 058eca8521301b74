//! Who looks into what happened, made of the token they have shown. The owner sees everything; everybody else sees the
//! conversations they have begun, and of them what their trust permits. Any other conversation is not there.

use std::time::Duration;

use foreword_agent::viewer::Viewer;
use foreword_core::api_token::Scope;
use foreword_core::id::ConversationId;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::trust::Trust;

use super::moment::moment;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// How long is waited for the log to be written before it is read.
const LOG_PATIENCE: Duration = Duration::from_secs(1);

/// The id of a conversation, as a client has written it.
pub(crate) fn conversation_id(words: Option<&str>) -> Result<Option<ConversationId>, Problem> {
    let read = words.map(ConversationId::new).transpose();
    read.map_err(|bad| Problem::bad_request("bad_id", bad.to_string()))
}

/// Whoever asks, looking at `conversation` or, if they are the owner, at everything.
pub(crate) async fn viewer(
    app: &App,
    caller: &Caller,
    conversation: Option<ConversationId>,
) -> Result<Viewer, Problem> {
    caller.needs(Scope::Observe)?;
    let trust = caller.trust(&app.config());
    if let Some(id) = &conversation
        && !trust.permits(Trust::Full)
        && !is_theirs(app, caller, id).await?
    {
        return Err(Problem::not_found("conversation", id.as_str()));
    }
    log_written(app).await;
    let now = app.surroundings.now();
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

/// The same, and refuses whoever must say which conversation and does not.
pub(crate) async fn viewer_of(
    app: &App,
    caller: &Caller,
    conversation: Option<ConversationId>,
) -> Result<Viewer, Problem> {
    let viewer = viewer(app, caller, conversation).await?;
    if viewer.sees_everything() || viewer.conversation.is_some() {
        return Ok(viewer);
    }
    Err(Problem::bad_request("conversation_needed", "only the owner looks at all conversations at once")
        .help("name one of your own"))
}

/// Waits until what has happened so far is in the store. A database that is away is no reason to wait for it here.
pub(crate) async fn log_written(app: &App) {
    let _ = tokio::time::timeout(LOG_PATIENCE, app.events.flush()).await;
}

/// Whether they have begun the conversation.
pub(crate) async fn is_theirs(app: &App, caller: &Caller, id: &ConversationId) -> Result<bool, Problem> {
    let found = app.store.conversation(id).await?;
    Ok(found.and_then(|found| found.user).as_deref() == Some(caller.user()))
}

/// From when to when, as a client has said it.
pub(crate) type Between = (Option<Timestamp>, Option<Timestamp>);

/// Both times that a client has said.
pub(crate) fn between(since: Option<&str>, until: Option<&str>, app: &App) -> Result<Between, Problem> {
    Ok((moment(since, app)?, moment(until, app)?))
}
