//! Publishes a missing `turn_end`: a node may die after it stored the end of a turn and before it published the event.
//! The event is marked as incomplete, since the last text may be missing in the stream; all messages are in the
//! conversation.

use std::time::Duration;

use foreword_core::id::{ConversationId, TurnId};
use foreword_core::message::Usage;
use foreword_core::money::Price;
use foreword_store::error::StoreError;
use foreword_store::streams::{NewStreamItem, StreamItem};
use foreword_store::turns::StoredTurn;
use serde_json::Value;

use super::stream_event::StreamEvent;
use crate::app::App;

/// How long the node that ran the turn has to publish its end.
pub(super) const GRACE_PERIOD: Duration = Duration::from_secs(10);

/// Repairs a conversation in the background.
pub(super) fn spawn_repair(app: &App, conversation: &ConversationId) {
    let (app, conversation) = (app.clone(), conversation.clone());
    tokio::spawn(async move {
        // The next subscriber tries again.
        let _ = repair(&app, &conversation).await;
    });
}

/// Publishes `turn_end` if the last turn has ended without one.
pub(super) async fn repair(app: &App, conversation: &ConversationId) -> Result<(), StoreError> {
    let last = app.store.stream(conversation, 0, 0).await?.last;
    let Some(before) = last.checked_sub(1) else { return Ok(()) };
    let page = app.store.stream(conversation, before, 1).await?;
    let Some(turn) = page.items.first().filter(|item| item.seq == last).and_then(open_turn) else {
        return Ok(());
    };
    let found = match app.store.turn(&turn).await {
        Ok(found) => found,
        Err(StoreError::NotFound { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    let ended_long_ago = found.ended_at.is_some_and(|at| app.now().since(at) >= GRACE_PERIOD);
    if !ended_long_ago || app.live.log.is_writing(conversation) {
        return Ok(());
    }
    let new = NewStreamItem { trust: found.trust, item: turn_end_item(&found) };
    if app.store.append_to_stream_at(conversation, new.clone(), last, app.now()).await? {
        app.live.hub.publish(conversation, last + 1, std::iter::once((new.trust, new.item)));
    }
    Ok(())
}

/// The `turn_end` of a turn that another node ran.
pub(super) fn turn_end_item(turn: &StoredTurn) -> String {
    let event = StreamEvent::TurnEnd {
        turn_id: turn.id.clone(),
        outcome: turn.state.into(),
        usage: Usage::default().into(),
        cost: Price::Unknown,
        incomplete: true,
    };
    // Serialising strings and numbers can't fail.
    serde_json::to_string(&event).unwrap_or_default()
}

/// The turn of an event, unless it is its `turn_end`.
fn open_turn(item: &StreamItem) -> Option<TurnId> {
    let item: Value = serde_json::from_str(&item.item).ok()?;
    let turn = item["turnId"].as_str()?;
    (item["type"] != "turn_end").then(|| TurnId::new(turn).ok())?
}
