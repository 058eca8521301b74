//! Which messages of a conversation a turn may read. Messages above the turn's trust are replaced by a placeholder,
//! which reveals nothing about their text, author or length and keeps all positions.

use std::collections::BTreeMap;

use foreword_prompt::trust::Trust;

use crate::id::{CallId, MessageId};
use crate::message::{ContentBlock, Message, NewMessage, Provenance};

/// The placeholder text for withheld messages.
pub const WITHHELD: &str = "[A message of this conversation is withheld here.]";

/// The history as a turn of trust `trust` may read it: the same number of messages, with the same positions and roles.
///
/// Tool results follow their calls, since providers reject one without the other. If the call is withheld, so is its
/// result, at any trust. If only the result is withheld, the placeholder is the result.
///
/// ```
/// use foreword_core::history_visibility::{WITHHELD, visible_history};
/// use foreword_core::message::ContentBlock;
/// use foreword_prompt::trust::Trust;
/// # use foreword_core::message::{Kind, Message, NewMessage, Provenance, Role};
/// # let said = |seq: u64, trust, text: &str| Message { seq, message: NewMessage {
/// #     id: foreword_core::id::MessageId::new(format!("m-{seq}")).unwrap(),
/// #     conversation: foreword_core::id::ConversationId::new("c-1").unwrap(),
/// #     role: Role::User, kind: Kind::Message, content: vec![ContentBlock::text(text)], trust,
/// #     provenance: Provenance::Owner, author: Some("alice".to_owned()), turn: None, usage: None,
/// #     at: "2026-11-16T08:00:00Z".parse().unwrap() } };
/// let history = vec![said(1, Trust::Full, "my pin is 1234"), said(2, Trust::Familiar, "hello, group")];
/// let seen = visible_history(history, Trust::Familiar);
/// assert_eq!(seen[0].message.content, [ContentBlock::text(WITHHELD)]);
/// assert_eq!(seen[1].message.content, [ContentBlock::text("hello, group")]);
/// ```
#[must_use]
pub fn visible_history(history: Vec<Message>, trust: Trust) -> Vec<Message> {
    let mut calls = Calls::default();
    let seen = history.into_iter().map(|message| {
        let above = !trust.permits(message.message.trust);
        let hidden = above || results(&message).any(|call| calls.is_hidden(call));
        calls.note(&message, hidden);
        if hidden { placeholder(&message, &calls) } else { message }
    });
    seen.collect()
}

/// The tool calls so far, and whether each is hidden. Some models reuse call ids in every answer, so the last call with
/// an id counts.
#[derive(Debug, Default)]
struct Calls(BTreeMap<CallId, bool>);

impl Calls {
    fn note(&mut self, message: &Message, hidden: bool) {
        for block in &message.message.content {
            if let ContentBlock::ToolCall { id, .. } = block {
                self.0.insert(id.clone(), hidden);
            }
        }
    }

    fn is_hidden(&self, call: &CallId) -> bool {
        self.0.get(call) == Some(&true)
    }

    fn is_seen(&self, call: &CallId) -> bool {
        self.0.get(call) == Some(&false)
    }
}

/// The calls whose results are in a message.
fn results(message: &Message) -> impl Iterator<Item = &CallId> {
    message.message.content.iter().filter_map(|block| match block {
        ContentBlock::ToolResult { call, .. } => Some(call),
        _ => None,
    })
}

/// A message with only the placeholder.
fn placeholder(withheld: &Message, calls: &Calls) -> Message {
    let line = |call: &CallId| ContentBlock::ToolResult {
        call: call.clone(),
        content: WITHHELD.to_owned(),
        is_error: false,
    };
    let mut content: Vec<_> = results(withheld).filter(|call| calls.is_seen(call)).map(line).collect();
    if content.is_empty() {
        content.push(ContentBlock::text(WITHHELD));
    }
    let message = &withheld.message;
    let message = NewMessage {
        // Derived from the position, since the real id may name the author. A number is always a valid id.
        id: MessageId::new(format!("withheld-{}", withheld.seq)).unwrap_or_else(|_| message.id.clone()),
        conversation: message.conversation.clone(),
        role: message.role,
        kind: message.kind,
        content,
        trust: Trust::Public,
        provenance: Provenance::Agent,
        author: None,
        turn: None,
        usage: None,
        at: message.at,
    };
    Message { seq: withheld.seq, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ConversationId;
    use crate::message::{Kind, Role, Usage};
    use proptest::prelude::*;

    /// Text that must not appear in the visible history.
    const SECRET: &str = "s3cret";

    fn message(seq: u64, role: Role, trust: Trust, content: Vec<ContentBlock>) -> Message {
        let usage = Usage { input: 98_765, output: 98_765, ..Usage::default() };
        let message = NewMessage {
            id: MessageId::new(format!("{trust}-{SECRET}-{seq}")).unwrap(),
            conversation: ConversationId::new("c-1").unwrap(),
            role,
            kind: Kind::Message,
            content,
            trust,
            provenance: Provenance::Owner,
            author: Some(format!("alice {trust}-{SECRET}")),
            turn: None,
            usage: Some(usage),
            at: "2026-11-16T08:00:00Z".parse().unwrap(),
        };
        Message { seq, message }
    }

    fn call(id: &str) -> ContentBlock {
        ContentBlock::ToolCall {
            id: CallId::new(id).unwrap(),
            name: "memory_get".to_owned(),
            input: serde_json::json!({ "path": SECRET }),
        }
    }

    fn result(id: &str, words: &str) -> ContentBlock {
        ContentBlock::ToolResult {
            call: CallId::new(id).unwrap(),
            content: words.to_owned(),
            is_error: false,
        }
    }

    fn any_trust() -> impl Strategy<Value = Trust> {
        (0..Trust::ALL.len()).prop_map(|index| Trust::ALL[index])
    }

    /// Histories of questions, calls and results, each at any trust, with reused ids.
    fn any_history() -> impl Strategy<Value = Vec<Message>> {
        let exchange = (0..3_usize, any_trust(), any_trust(), 0..3_usize);
        proptest::collection::vec(exchange, 0..12).prop_map(|exchanges| {
            let mut history = Vec::new();
            for (calls, of_call, of_result, more) in exchanges {
                let words = |trust: Trust| format!("{trust}-{SECRET}{}", " and more".repeat(more));
                let next = |history: &Vec<Message>| history.len() as u64 + 1;
                let ids: Vec<String> = (0..calls).map(|index| format!("call_{index}")).collect();
                let mut said = vec![ContentBlock::text(words(of_call))];
                said.extend(ids.iter().map(|id| call(id)));
                history.push(message(next(&history), Role::Assistant, of_call, said));
                if calls > 0 {
                    let given = ids.iter().map(|id| result(id, &words(of_result))).collect();
                    history.push(message(next(&history), Role::Tool, of_result, given));
                }
            }
            history
        })
    }

    /// Whether every result has a call and every call has a result.
    fn is_paired(history: &[Message]) -> bool {
        let mut open: Vec<&CallId> = Vec::new();
        for block in history.iter().flat_map(|message| &message.message.content) {
            match block {
                ContentBlock::ToolCall { id, .. } => open.push(id),
                ContentBlock::ToolResult { call, .. } => match open.iter().position(|id| *id == call) {
                    Some(found) => drop(open.remove(found)),
                    None => return false,
                },
                _ => {}
            }
        }
        open.is_empty()
    }

    proptest! {
        #[test]
        fn turn_reads_nothing_written_above_its_trust(history in any_history(), trust in any_trust()) {
            let seen = visible_history(history.clone(), trust);
            prop_assert_eq!(seen.len(), history.len());
            for (was, is) in history.iter().zip(&seen) {
                prop_assert_eq!((was.seq, was.message.role), (is.seq, is.message.role));
            }
            let shown = format!("{seen:?}");
            for above in Trust::ALL.into_iter().filter(|above| !trust.permits(*above)) {
                let secret = format!("{above}-{SECRET}");
                prop_assert!(!shown.contains(&secret), "{}", shown);
            }
        }

        #[test]
        fn placeholder_does_not_depend_on_the_message(history in any_history(), trust in any_trust()) {
            let mut other = history.clone();
            for message in other.iter_mut().filter(|message| !trust.permits(message.message.trust)) {
                message.message.author = Some("bob".to_owned());
                message.message.usage = None;
                message.message.provenance = Provenance::Outside;
                for block in &mut message.message.content {
                    match block {
                        ContentBlock::Text { text } => *text = "something else altogether".to_owned(),
                        ContentBlock::ToolCall { name, .. } => *name = "bash".to_owned(),
                        ContentBlock::ToolResult { content, is_error, .. } => {
                            (*content, *is_error) = (String::new(), true);
                        }
                        ContentBlock::Other(_) => {}
                    }
                }
            }
            prop_assert_eq!(visible_history(history, trust), visible_history(other, trust));
        }

        #[test]
        fn calls_and_their_results_stay_together(history in any_history(), trust in any_trust()) {
            prop_assert!(is_paired(&history));
            let seen = visible_history(history, trust);
            prop_assert!(is_paired(&seen), "{:?}", seen);
        }

        #[test]
        fn withheld_messages_stay_withheld(history in any_history(), first in any_trust(), then in any_trust()) {
            let twice = visible_history(visible_history(history.clone(), first), then);
            prop_assert_eq!(twice, visible_history(history, first.meet(then)));
        }

        #[test]
        fn full_trust_reads_everything(history in any_history()) {
            prop_assert_eq!(visible_history(history.clone(), Trust::Full), history);
        }
    }

    #[test]
    fn withheld_result_still_answers_its_call() {
        let history = vec![
            message(1, Role::Assistant, Trust::Familiar, vec![call("call-1")]),
            message(2, Role::Tool, Trust::Full, vec![result("call-1", "the diary")]),
        ];
        let seen = visible_history(history, Trust::Familiar);
        assert_eq!(seen[1].message.content, [result("call-1", WITHHELD)]);
    }

    #[test]
    fn result_is_withheld_with_its_call() {
        let history = vec![
            message(1, Role::Assistant, Trust::Full, vec![call("call-1")]),
            message(2, Role::Tool, Trust::Public, vec![result("call-1", "sunny")]),
            message(3, Role::Assistant, Trust::Public, vec![call("call-1")]),
            message(4, Role::Tool, Trust::Public, vec![result("call-1", "rainy")]),
        ];
        let seen = visible_history(history, Trust::Familiar);
        assert_eq!(seen[1].message.content, [ContentBlock::text(WITHHELD)]);
        assert_eq!(seen[3].message.content, [result("call-1", "rainy")]);
    }

    #[test]
    fn placeholder_is_one_line() {
        assert_eq!(WITHHELD.lines().count(), 1);
    }
}
