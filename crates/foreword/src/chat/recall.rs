//! The end of a conversation that is gone on with, as a reminder. Shows nothing above the trust of whoever sits there.

use foreword_core::history::History;
use foreword_core::message::{ContentBlock, Kind, Message, Role};
use foreword_prompt::untrusted::{display_line, preview};

use super::one_line::width;

/// The last thing that was said and what was answered, each on a line.
pub(crate) fn last_exchange(history: &History, agent: &str) -> Vec<String> {
    let own = |message: &&Message| message.message.kind == Kind::Message;
    let said: Vec<&Message> = history.messages.iter().filter(own).collect();
    let Some(at) = said.iter().rposition(|message| message.message.role == Role::User) else {
        return Vec::new();
    };
    let author = said[at].message.author.as_deref().unwrap_or("somebody");
    let asked = words(&said[at].message.content);
    let mut lines: Vec<String> = asked.map(|words| line(author, &words)).into_iter().collect();
    // Words that lead to a tool are not the answer; the last ones are.
    let answers = said[at..].iter().rev().filter(|message| message.message.role == Role::Assistant);
    let answer = answers.filter_map(|message| words(&message.message.content)).next();
    lines.extend(answer.map(|words| line(agent, &words)));
    lines
}

fn line(name: &str, words: &str) -> String {
    let name = display_line(name, 40);
    let room = width().saturating_sub(name.chars().count() + 4);
    format!("  {name}: {}", preview(words, room))
}

fn words(content: &[ContentBlock]) -> Option<String> {
    let texts = content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let words = texts.collect::<Vec<_>>().join(" ");
    (!words.trim().is_empty()).then_some(words)
}
