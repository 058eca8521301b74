//! Stops the turn that runs in a conversation, for somebody who may see it.

use foreword_core::turn_journal::TurnState;

use crate::app::App;
use crate::auth::Seen;
use crate::problem::Problem;

/// Stops the turn that runs in a conversation, on whichever node. Of a turn above their trust nobody learns that it runs, and
/// so it is not theirs to stop.
pub(crate) async fn stop_turn(app: &App, seen: &Seen) -> Result<(), Problem> {
    let conversation = &seen.conversation.id;
    let newest = app.store.turns(conversation, None, 1).await?;
    match newest.first().filter(|turn| turn.state == TurnState::Running) {
        Some(turn) if !seen.permits(turn.trust) => {}
        Some(turn) if turn.holder != app.node => app.store.ask_to_cancel(conversation).await?,
        _ => app.agent.cancel(conversation),
    }
    Ok(())
}
