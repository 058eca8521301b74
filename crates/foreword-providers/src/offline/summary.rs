//! A summary by rule, for when a conversation is compacted: the first sentence of what was asked, and of the last
//! answers. It says less than a model's would, and always the same.

use foreword_core::model::{ModelRequest, RequestMessage, RequestRole};

use super::own_words::UserMessage;
use super::reading::texts;
use super::shown::first_sentence;

const MOST_WORDS: usize = 200;
const ANSWERS: usize = 3;
const SENTENCE_CHARS: usize = 160;

/// Whether `said` asks for a summary of the conversation, as compaction does.
pub(super) fn is_asked_for(said: &str) -> bool {
    said.lines().any(|line| line.starts_with("Summarise the conversation"))
}

/// The summary of everything before the last message.
pub(super) fn of(request: &ModelRequest) -> String {
    let last = request.messages.iter().rposition(|message| message.role == RequestRole::User);
    let before = &request.messages[..last.unwrap_or(0)];
    let asked: Vec<String> =
        sentences(before, RequestRole::User).map(|line| format!("- Asked: {line}")).collect();
    let answered: Vec<String> =
        sentences(before, RequestRole::Assistant).map(|line| format!("- Answered: {line}")).collect();
    let answered = &answered[answered.len().saturating_sub(ANSWERS)..];
    let head = "Summary by rule, not by a language model: first sentences only.";
    let room = MOST_WORDS
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
        RequestRole::User => UserMessage::of(message).words,
        // An introduction stands in a paragraph of its own, before the answer.
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

/// How many of the oldest are left out so that the rest has no more than `room` words, and the rest.
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
