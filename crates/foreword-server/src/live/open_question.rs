//! The question to the owner that a conversation waits for, whichever node runs its turn.

use foreword_core::id::{ConversationId, TurnId};
use foreword_core::turn_journal::TurnState;
use foreword_store::error::StoreError;
use serde_json::Value;

use crate::app::App;

/// How many of the last items of a stream are read: `status` items may follow a question.
const LAST_ITEMS: u32 = 16;

/// The outcome of a message whose turn waits for the owner's approval.
pub(crate) const WAITING_FOR_APPROVAL: &str = "waiting_for_approval";

/// A question that the owner has not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenQuestion {
    /// Its id, which an `answer` names as `callId`.
    pub(crate) id: String,
    /// The turn that waits for the answer.
    pub(crate) turn: TurnId,
}

/// The question that the running turn of a conversation waits for, if it waits for one. What the turn waits for is known from
/// the feed where it runs on this node, and from the conversation's stream where it runs on another.
pub(crate) async fn open_question(
    app: &App,
    conversation: &ConversationId,
) -> Result<Option<OpenQuestion>, StoreError> {
    let newest = app.store.turns(conversation, None, 1).await?.into_iter().next();
    let Some(turn) = newest.filter(|turn| turn.state == TurnState::Running) else { return Ok(None) };
    let id = if turn.holder == app.node {
        app.agent.feed(conversation).open_question().map(|question| question.call.to_string())
    } else {
        in_stream(app, conversation, &turn.id).await?
    };
    Ok(id.map(|id| OpenQuestion { id, turn: turn.id }))
}

async fn in_stream(
    app: &App,
    conversation: &ConversationId,
    turn: &TurnId,
) -> Result<Option<String>, StoreError> {
    let last = app.store.stream(conversation, 0, 0).await?.last;
    let page = app.store.stream(conversation, last.saturating_sub(LAST_ITEMS.into()), LAST_ITEMS).await?;
    let items = page.items.iter().rev().filter_map(|item| serde_json::from_str::<Value>(&item.item).ok());
    Ok(question_in(items, turn))
}

/// The id of the question that the items of a stream, the newest first, end with.
fn question_in(newest_first: impl Iterator<Item = Value>, turn: &TurnId) -> Option<String> {
    let last = newest_first.into_iter().find(|item| item["type"] != "status")?;
    let is_question = last["type"] == "question" && last["turnId"] == turn.as_str();
    last["callId"].as_str().filter(|_| is_question).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_question_is_open_while_only_status_follows_it() {
        let turn = TurnId::new("t-1").unwrap();
        let question = json!({ "type": "question", "turnId": "t-1", "callId": "call-1" });
        let status = json!({ "type": "status", "turnId": "t-1" });
        let result = json!({ "type": "tool_result", "turnId": "t-1" });
        let of_another = json!({ "type": "question", "turnId": "t-0", "callId": "call-0" });
        let found = |items: Vec<Value>| question_in(items.into_iter(), &turn);
        assert_eq!(found(vec![status.clone(), question.clone()]).as_deref(), Some("call-1"));
        assert_eq!(found(vec![result, question]), None);
        assert_eq!(found(vec![of_another]), None);
        assert_eq!(found(vec![status]), None);
    }
}
