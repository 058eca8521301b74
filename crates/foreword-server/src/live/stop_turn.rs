//! Stops the running turn of a conversation.

use foreword_core::turn_journal::TurnState;

use crate::app::App;
use crate::auth::VisibleConversation;
use crate::problem::Problem;

/// Stops the running turn of a conversation, on any node. Does nothing if the turn's trust is above the caller's, who
/// must not learn that it runs.
pub(crate) async fn stop_turn(app: &App, seen: &VisibleConversation) -> Result<(), Problem> {
    let conversation = &seen.conversation.id;
    let newest = app.store.turns(conversation, None, 1).await?;
    match newest.first().filter(|turn| turn.state == TurnState::Running) {
        Some(turn) if !seen.permits(turn.trust) => {}
        Some(turn) if turn.holder != app.node => app.store.request_cancel(conversation).await?,
        _ => app.agent.cancel(conversation),
    }
    Ok(())
}
