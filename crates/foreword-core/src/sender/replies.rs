//! Extracts a turn's replies from its messages. Nothing is sent while the turn runs, so that an interrupted and resumed
//! turn sends each reply once.

use std::collections::{BTreeMap, BTreeSet};

use foreword_prompt::untrusted::single_line;
use serde_json::Value;

use super::{SenderAddress, SenderReply};
use crate::id::{CallId, InboxId, MAX_ID_BYTES};
use crate::message::{ContentBlock, Role};
use crate::turn::TurnMessage;

/// The tool that answers an inbox message.
pub const REPLY_TOOL: &str = "inbox_reply";
/// The tool that reads an inbox message in full.
pub const READ_TOOL: &str = "inbox_read";
/// The maximum number of replies to one message in a turn.
pub const MAX_REPLIES_PER_MESSAGE: usize = 3;
/// The maximum length of a reply, in bytes.
pub const MAX_REPLY_BYTES: usize = 64 * 1024;

/// The replies of a turn to the messages of `batch`: one for each successful call of [`REPLY_TOOL`]. Without such a
/// call, and if all messages are from one sender, the last text of the agent is the reply.
#[must_use]
pub fn replies(said: &[TurnMessage], batch: &[(InboxId, SenderAddress)]) -> Vec<SenderReply> {
    let called = called_replies(said, batch);
    if !called.is_empty() {
        return called;
    }
    let senders: BTreeSet<&SenderAddress> = batch.iter().map(|(_, sender)| sender).collect();
    match (batch.last(), last_text(said)) {
        (Some((id, sender)), Some(body)) if senders.len() == 1 => {
            vec![SenderReply { recipient: sender.clone(), in_reply_to: Some(id.clone()), body }]
        }
        _ => Vec::new(),
    }
}

/// The messages of `batch` whose senders get no reply, in order. A sender with a reply to one message counts as
/// answered for all of them.
#[must_use]
pub fn unanswered(said: &[TurnMessage], batch: &[(InboxId, SenderAddress)]) -> Vec<InboxId> {
    let replies = replies(said, batch);
    let answered: BTreeSet<&SenderAddress> = replies.iter().map(|reply| &reply.recipient).collect();
    let missing = batch.iter().filter(|(_, sender)| !answered.contains(sender));
    missing.map(|(id, _)| id.clone()).collect()
}

/// The message of `batch` that the model calls `name`. The model sees ids with unusual characters escaped.
#[must_use]
pub fn message_named<'b>(
    batch: &'b [(InboxId, SenderAddress)],
    name: &str,
) -> Option<&'b (InboxId, SenderAddress)> {
    if let Some(exact) = batch.iter().find(|(id, _)| id.as_str() == name) {
        return Some(exact);
    }
    let mut shown = batch.iter().filter(|(id, _)| single_line(id.as_str(), MAX_ID_BYTES) == name);
    // Two ids that look the same are ambiguous.
    shown.next().filter(|_| shown.next().is_none())
}

/// The number of replies to `message`.
#[must_use]
pub fn answers_to(replies: &[SenderReply], message: &InboxId) -> usize {
    replies.iter().filter(|reply| reply.in_reply_to.as_ref() == Some(message)).count()
}

/// The replies by successful tool calls.
#[must_use]
pub fn called_replies(said: &[TurnMessage], batch: &[(InboxId, SenderAddress)]) -> Vec<SenderReply> {
    let mut calls: BTreeMap<&CallId, &Value> = BTreeMap::new();
    let mut found: Vec<SenderReply> = Vec::new();
    for block in said.iter().flat_map(|said| &said.content) {
        match block {
            ContentBlock::ToolCall { id, name, input } if name == REPLY_TOOL => {
                calls.insert(id, input);
            }
            ContentBlock::ToolResult { call, is_error: false, .. } => {
                let reply = calls.remove(call).and_then(|input| reply(input, batch));
                let fits = |reply: &SenderReply| {
                    reply
                        .in_reply_to
                        .as_ref()
                        .is_some_and(|id| answers_to(&found, id) < MAX_REPLIES_PER_MESSAGE)
                };
                found.extend(reply.filter(fits));
            }
            _ => {}
        }
    }
    found
}

fn reply(input: &Value, batch: &[(InboxId, SenderAddress)]) -> Option<SenderReply> {
    let (message, text) = (input.get("message")?.as_str()?, input.get("text")?.as_str()?);
    let (id, sender) = message_named(batch, message)?;
    let body = text.trim();
    let fits = !body.is_empty() && body.len() <= MAX_REPLY_BYTES;
    fits.then(|| SenderReply {
        recipient: sender.clone(),
        in_reply_to: Some(id.clone()),
        body: body.to_owned(),
    })
}

fn last_text(said: &[TurnMessage]) -> Option<String> {
    let last = said.iter().rev().find(|said| said.role == Role::Assistant)?;
    let text = ContentBlock::joined_text(&last.content);
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn batch(messages: &[(&str, &str)]) -> Vec<(InboxId, SenderAddress)> {
        let pair =
            |(id, sender): &(&str, &str)| (InboxId::new(id).unwrap(), SenderAddress::new(sender).unwrap());
        messages.iter().map(pair).collect()
    }

    fn call(number: usize, message: &str, text: &str) -> TurnMessage {
        let id = CallId::new(format!("call-{number}")).unwrap();
        let input = json!({ "message": message, "text": text });
        let content = vec![ContentBlock::ToolCall { id, name: REPLY_TOOL.to_owned(), input }];
        TurnMessage { role: Role::Assistant, content, from_outside: false, usage: None }
    }

    fn result(number: usize, is_error: bool) -> TurnMessage {
        let call = CallId::new(format!("call-{number}")).unwrap();
        let content = vec![ContentBlock::ToolResult { call, content: "done".to_owned(), is_error }];
        TurnMessage { role: Role::Tool, content, from_outside: false, usage: None }
    }

    fn text_message(text: &str) -> TurnMessage {
        TurnMessage {
            role: Role::Assistant,
            content: vec![ContentBlock::text(text)],
            from_outside: false,
            usage: None,
        }
    }

    fn check(said: &[TurnMessage], messages: &[(&str, &str)], expected: &[(&str, &str, &str)]) {
        let found = replies(said, &batch(messages));
        let found: Vec<_> = found
            .iter()
            .map(|reply| {
                let id = reply.in_reply_to.as_ref().map_or("", InboxId::as_str);
                (reply.recipient.as_str(), id, reply.body.as_str())
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn successful_calls_are_replies() {
        let said = [
            call(1, "m-1", " hello a "),
            result(1, false),
            call(2, "m-2", "hello b"),
            result(2, true),
            call(3, "m-9", "nobody"),
            result(3, false),
            call(4, "m-2", "again"),
            text_message("All answered."),
        ];
        check(&said, &[("m-1", "a"), ("m-2", "b")], &[("a", "m-1", "hello a")]);
    }

    #[test]
    fn senders_without_a_reply_are_found() {
        let missing = |said: &[TurnMessage], messages: &[(&str, &str)]| -> Vec<String> {
            unanswered(said, &batch(messages)).iter().map(ToString::to_string).collect()
        };
        let two = [("m-1", "a"), ("m-2", "b"), ("m-3", "a")];
        assert_eq!(missing(&[text_message("Hello, both of you.")], &two), ["m-1", "m-2", "m-3"]);
        assert_eq!(missing(&[call(1, "m-3", "hello"), result(1, false)], &two), ["m-2"]);
        assert_eq!(missing(&[text_message("Hello.")], &[("m-1", "a")]), Vec::<String>::new());
        assert_eq!(missing(&[], &[("m-1", "a")]), ["m-1"]);
    }

    #[test]
    fn message_is_found_by_id_or_escaped_id() {
        let batch = batch(&[("m-1", "a"), ("m-`2", "b")]);
        let found = |name: &str| message_named(&batch, name).map(|(_, sender)| sender.to_string());
        assert_eq!(found("m-1").as_deref(), Some("a"));
        assert_eq!(found("m-`2").as_deref(), Some("b"));
        assert_eq!(found("m-'2").as_deref(), Some("b"));
        assert_eq!(found("m-3"), None);
    }

    #[test]
    fn replies_per_message_are_limited() {
        let said: Vec<TurnMessage> = (0..5)
            .flat_map(|number| [call(number, "m-1", &format!("part {number}")), result(number, false)])
            .collect();
        let expected = [("a", "m-1", "part 0"), ("a", "m-1", "part 1"), ("a", "m-1", "part 2")];
        check(&said, &[("m-1", "a")], &expected);
    }

    #[test]
    fn last_text_answers_a_single_sender() {
        let said = [text_message("Let me see."), text_message("It costs five.")];
        check(&said, &[("m-1", "a"), ("m-2", "a")], &[("a", "m-2", "It costs five.")]);
        check(&said, &[("m-1", "a"), ("m-2", "b")], &[]);
        check(&[text_message("  ")], &[("m-1", "a")], &[]);
        check(&[], &[("m-1", "a")], &[]);
        // A failed call sends nothing; the text after it is sent.
        let said = [call(1, "m-1", "x"), result(1, true), text_message("Sorry, here it is.")];
        check(&said, &[("m-1", "a")], &[("a", "m-1", "Sorry, here it is.")]);
    }
}
