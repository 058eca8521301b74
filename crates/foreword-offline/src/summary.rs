//! A rule-based summary for compaction: the first sentences of the user messages and of the last answers. Shorter than
//! a model's summary, and deterministic.

use foreword_core::model::{ModelRequest, RequestMessage, RequestRole};

use crate::request_state::texts;
use crate::text_format::first_sentence;
use crate::user_message::UserMessage;

const MAX_WORDS: usize = 200;
const MAX_ANSWERS: usize = 3;
const SENTENCE_CHARS: usize = 160;

/// Whether the message is compaction's request for a summary.
pub(crate) fn is_asked_for(said: &str) -> bool {
    said.lines().any(|line| line.starts_with("Summarise the conversation"))
}

/// The summary of all messages before the last one.
pub(crate) fn of(request: &ModelRequest) -> String {
    let last = request.messages.iter().rposition(|message| message.role == RequestRole::User);
    let before = &request.messages[..last.unwrap_or(0)];
    let asked: Vec<String> =
        sentences(before, RequestRole::User).map(|line| format!("- Asked: {line}")).collect();
    let answered: Vec<String> =
        sentences(before, RequestRole::Assistant).map(|line| format!("- Answered: {line}")).collect();
    let answered = &answered[answered.len().saturating_sub(MAX_ANSWERS)..];
    let head = "Summary by rule, not by a language model: first sentences only.";
    let room = MAX_WORDS
        .saturating_sub(word_count(head) + answered.iter().map(|line| word_count(line)).sum::<usize>());
    let (left_out, kept) = newest_within(&asked, room);
    let mut lines = vec![head.to_owned()];
    if left_out > 0 {
        lines.push(format!("- Asked earlier: {left_out} more"));
    }
    lines.extend(kept.iter().chain(answered).cloned());
    lines.join("\n")
}

fn sentences(messages: &[RequestMessage], role: RequestRole) -> impl Iterator<Item = String> {
    let words = move |message: &RequestMessage| match role {
        RequestRole::User => UserMessage::of(message).text,
        // An introduction is a separate paragraph before the answer.
        RequestRole::Assistant | RequestRole::Tool => {
            let said = texts(message).collect::<Vec<_>>().join("\n");
            said.rsplit("\n\n").next().unwrap_or_default().to_owned()
        }
    };
    messages
        .iter()
        .filter(move |message| message.role == role)
        .map(move |message| first_sentence(&words(message), SENTENCE_CHARS))
        .filter(|sentence| !sentence.is_empty())
}

/// The number of oldest lines to omit so that the rest has at most `room` words, and the rest.
fn newest_within(lines: &[String], room: usize) -> (usize, &[String]) {
    let mut words = 0;
    let fitting = lines.iter().rev().take_while(|line| {
        words += word_count(line);
        words <= room
    });
    let left_out = lines.len() - fitting.count();
    (left_out, &lines[left_out..])
}

fn word_count(text: &str) -> usize {
    text.split_whitespace().count()
}
