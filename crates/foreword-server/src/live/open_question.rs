//! The approval question that a conversation waits for on another node.

use foreword_core::id::{ConversationId, TurnId};
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use serde_json::Value;

/// The number of last events to read: `status` may follow a question.
const LAST_ITEMS: u32 = 16;

/// The outcome of a message whose turn waits for the owner's approval.
pub(crate) const WAITING_FOR_APPROVAL: &str = "waiting_for_approval";

/// The id of the question that a running turn waits for, from the stream that its node writes.
pub(super) async fn in_stream(
    store: &Store,
    conversation: &ConversationId,
    turn: &TurnId,
) -> Result<Option<String>, StoreError> {
    let last = store.stream(conversation, 0, 0).await?.last;
    let page = store.stream(conversation, last.saturating_sub(LAST_ITEMS.into()), LAST_ITEMS).await?;
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
    fn question_is_open_while_only_status_follows_it() {
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
