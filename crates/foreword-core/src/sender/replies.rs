//! What a turn answers to whom, read off what it has said. Nothing is sent while the turn runs, so that a turn which is
//! cut off and gone on with sends each answer once.

use std::collections::{BTreeMap, BTreeSet};

use foreword_prompt::untrusted::single_line;
use serde_json::Value;

use super::{Reply, SenderAddress};
use crate::id::{CallId, InboxId, MAX_ID_BYTES};
use crate::message::{ContentBlock, Role};
use crate::turn::Said;

/// The tool by which a message of the inbox is answered.
pub const REPLY_TOOL: &str = "inbox_reply";
/// The tool by which one is read in full.
pub const READ_TOOL: &str = "inbox_read";
/// How often one message may be answered in a turn.
pub const REPLIES_PER_MESSAGE: usize = 3;
/// The longest answer, in bytes.
pub const LONGEST_REPLY: usize = 64 * 1024;

/// The answers of a turn that has said `said` over the messages of `batch`: one for each call of [`REPLY_TOOL`] that
/// succeeded. If there was none, and one sender wrote all of it, its last words are the answer.
#[must_use]
pub fn replies(said: &[Said], batch: &[(InboxId, SenderAddress)]) -> Vec<Reply> {
    let called = called_replies(said, batch);
    if !called.is_empty() {
        return called;
    }
    let senders: BTreeSet<&SenderAddress> = batch.iter().map(|(_, sender)| sender).collect();
    match (batch.last(), last_words(said)) {
        (Some((id, sender)), Some(body)) if senders.len() == 1 => {
            vec![Reply { recipient: sender.clone(), in_reply_to: Some(id.clone()), body }]
        }
        _ => Vec::new(),
    }
}

/// The message of `batch` that the model calls `name`. An id with odd characters was shown to it escaped.
#[must_use]
pub fn message_named<'b>(
    batch: &'b [(InboxId, SenderAddress)],
    name: &str,
) -> Option<&'b (InboxId, SenderAddress)> {
    if let Some(exact) = batch.iter().find(|(id, _)| id.as_str() == name) {
        return Some(exact);
    }
    let mut shown = batch.iter().filter(|(id, _)| single_line(id.as_str(), MAX_ID_BYTES) == name);
    // Two that look the same would be answered by guessing.
    shown.next().filter(|_| shown.next().is_none())
}

/// How many answers to `message` there are among these.
#[must_use]
pub fn answers_to(replies: &[Reply], message: &InboxId) -> usize {
    replies.iter().filter(|reply| reply.in_reply_to.as_ref() == Some(message)).count()
}

/// The answers that were given by calls that succeeded.
#[must_use]
pub fn called_replies(said: &[Said], batch: &[(InboxId, SenderAddress)]) -> Vec<Reply> {
    let mut calls: BTreeMap<&CallId, &Value> = BTreeMap::new();
    let mut found: Vec<Reply> = Vec::new();
    for block in said.iter().flat_map(|said| &said.content) {
        match block {
            ContentBlock::ToolCall { id, name, input } if name == REPLY_TOOL => {
                calls.insert(id, input);
            }
            ContentBlock::ToolResult { call, is_error: false, .. } => {
                let reply = calls.remove(call).and_then(|input| reply(input, batch));
                let fits = |reply: &Reply| {
                    reply.in_reply_to.as_ref().is_some_and(|id| answers_to(&found, id) < REPLIES_PER_MESSAGE)
                };
                found.extend(reply.filter(fits));
            }
            _ => {}
        }
    }
    found
}

fn reply(input: &Value, batch: &[(InboxId, SenderAddress)]) -> Option<Reply> {
    let (message, text) = (input.get("message")?.as_str()?, input.get("text")?.as_str()?);
    let (id, sender) = message_named(batch, message)?;
    let body = text.trim();
    let fits = !body.is_empty() && body.len() <= LONGEST_REPLY;
    fits.then(|| Reply { recipient: sender.clone(), in_reply_to: Some(id.clone()), body: body.to_owned() })
}

fn last_words(said: &[Said]) -> Option<String> {
    let last = said.iter().rev().find(|said| said.role == Role::Assistant)?;
    let texts = last.content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let words = texts.collect::<Vec<_>>().join("\n\n");
    let words = words.trim();
    (!words.is_empty()).then(|| words.to_owned())
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

    fn call(number: usize, message: &str, text: &str) -> Said {
        let id = CallId::new(format!("call-{number}")).unwrap();
        let input = json!({ "message": message, "text": text });
        let content = vec![ContentBlock::ToolCall { id, name: REPLY_TOOL.to_owned(), input }];
        Said { role: Role::Assistant, content, from_outside: false, usage: None }
    }

    fn result(number: usize, is_error: bool) -> Said {
        let call = CallId::new(format!("call-{number}")).unwrap();
        let content = vec![ContentBlock::ToolResult { call, content: "done".to_owned(), is_error }];
        Said { role: Role::Tool, content, from_outside: false, usage: None }
    }

    fn words(text: &str) -> Said {
        Said {
            role: Role::Assistant,
            content: vec![ContentBlock::text(text)],
            from_outside: false,
            usage: None,
        }
    }

    fn check(said: &[Said], messages: &[(&str, &str)], expected: &[(&str, &str, &str)]) {
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
    fn each_call_that_succeeded_is_an_answer_to_whoever_wrote_the_message() {
        let said = [
            call(1, "m-1", " hello a "),
            result(1, false),
            call(2, "m-2", "hello b"),
            result(2, true),
            call(3, "m-9", "nobody"),
            result(3, false),
            call(4, "m-2", "again"),
            words("All answered."),
        ];
        check(&said, &[("m-1", "a"), ("m-2", "b")], &[("a", "m-1", "hello a")]);
    }

    #[test]
    fn a_message_is_found_by_its_id_and_by_the_id_as_the_model_was_shown_it() {
        let batch = batch(&[("m-1", "a"), ("m-`2", "b")]);
        let found = |name: &str| message_named(&batch, name).map(|(_, sender)| sender.to_string());
        assert_eq!(found("m-1").as_deref(), Some("a"));
        assert_eq!(found("m-`2").as_deref(), Some("b"));
        assert_eq!(found("m-'2").as_deref(), Some("b"));
        assert_eq!(found("m-3"), None);
    }

    #[test]
    fn one_message_is_answered_a_few_times_at_most() {
        let said: Vec<Said> = (0..5)
            .flat_map(|number| [call(number, "m-1", &format!("part {number}")), result(number, false)])
            .collect();
        let expected = [("a", "m-1", "part 0"), ("a", "m-1", "part 1"), ("a", "m-1", "part 2")];
        check(&said, &[("m-1", "a")], &expected);
    }

    #[test]
    fn without_a_call_the_last_words_go_to_the_one_sender_and_to_nobody_if_there_are_several() {
        let said = [words("Let me see."), words("It costs five.")];
        check(&said, &[("m-1", "a"), ("m-2", "a")], &[("a", "m-2", "It costs five.")]);
        check(&said, &[("m-1", "a"), ("m-2", "b")], &[]);
        check(&[words("  ")], &[("m-1", "a")], &[]);
        check(&[], &[("m-1", "a")], &[]);
        // A call that failed sends nothing, and what is said after it goes out.
        let said = [call(1, "m-1", "x"), result(1, true), words("Sorry, here it is.")];
        check(&said, &[("m-1", "a")], &[("a", "m-1", "Sorry, here it is.")]);
    }
}
