//! A node may die when a turn has ended and before it could say so. Whoever waits for the end is told it by another node, with
//! a word that some of what was said may not be in the stream: all of it is in the conversation.

use std::time::Duration;

use foreword_core::id::{ConversationId, TurnId};
use foreword_core::message::Usage;
use foreword_core::money::Price;
use foreword_store::error::StoreError;
use foreword_store::streams::{NewStreamItem, StreamItem};
use foreword_store::turns::Turn;
use serde_json::Value;

use super::happening::Happening;
use crate::app::App;

/// How long whoever ran the turn has to say itself that it has ended.
pub(super) const AFTER: Duration = Duration::from_secs(10);

/// Looks at a conversation, beside whatever else is done.
pub(super) fn look_at(app: &App, conversation: &ConversationId) {
    let (app, conversation) = (app.clone(), conversation.clone());
    tokio::spawn(async move {
        // A database that is away is asked again by whoever looks on next.
        let _ = mend(&app, &conversation).await;
    });
}

/// Says that the last turn has ended, if it has and nobody said so.
pub(super) async fn mend(app: &App, conversation: &ConversationId) -> Result<(), StoreError> {
    let last = app.store.stream(conversation, 0, 0).await?.last;
    let Some(before) = last.checked_sub(1) else { return Ok(()) };
    let page = app.store.stream(conversation, before, 1).await?;
    let Some(turn) = page.items.first().filter(|item| item.seq == last).and_then(unended) else {
        return Ok(());
    };
    let found = match app.store.turn(&turn).await {
        Ok(found) => found,
        Err(StoreError::NotFound { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    let ended_long_ago = found.ended_at.is_some_and(|at| app.now().since(at) >= AFTER);
    if !ended_long_ago || app.live.log.is_writing(conversation) {
        return Ok(());
    }
    let new = NewStreamItem { trust: found.trust, item: end_of(&found) };
    if app.store.append_to_stream_at(conversation, (new.clone(), last), app.now()).await? {
        app.live.hub.show(conversation, last + 1, std::iter::once((new.trust, new.item)));
    }
    Ok(())
}

/// The end of a turn, told by somebody else than whoever ran it.
pub(super) fn end_of(turn: &Turn) -> String {
    let what = Happening::TurnEnd {
        turn_id: turn.id.clone(),
        outcome: turn.state.into(),
        usage: Usage::default().into(),
        cost: Price::Unknown,
        incomplete: true,
    };
    // Texts and numbers have a JSON form.
    serde_json::to_string(&what).unwrap_or_default()
}

/// The turn that an item belongs to, if it is not its end.
fn unended(item: &StreamItem) -> Option<TurnId> {
    let item: Value = serde_json::from_str(&item.item).ok()?;
    let turn = item["turnId"].as_str()?;
    (item["type"] != "turn_end").then(|| TurnId::new(turn).ok())?
}
