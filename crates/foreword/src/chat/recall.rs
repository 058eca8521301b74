//! A reminder of how a continued conversation ended. Shows nothing above the viewer's trust.

use foreword_core::history::History;
use foreword_core::message::{ContentBlock, Kind, Message, Role};
use foreword_prompt::untrusted::{display_line, preview};

use super::one_line::width;

/// The last message and its answer, one line each.
pub(crate) fn last_exchange(history: &History, agent: &str) -> Vec<String> {
    let own = |message: &&Message| message.message.kind == Kind::Message;
    let said: Vec<&Message> = history.messages.iter().filter(own).collect();
    let Some(at) = said.iter().rposition(|message| message.message.role == Role::User) else {
        return Vec::new();
    };
    let author = said[at].message.author.as_deref().unwrap_or("unknown");
    let asked = text_of(&said[at].message.content);
    let mut lines: Vec<String> = asked.map(|words| line(author, &words)).into_iter().collect();
    // The answer is the last text of the turn, not the text before a tool call.
    let answers = said[at..].iter().rev().filter(|message| message.message.role == Role::Assistant);
    let answer = answers.filter_map(|message| text_of(&message.message.content)).next();
    lines.extend(answer.map(|words| line(agent, &words)));
    lines
}

fn line(name: &str, words: &str) -> String {
    let name = display_line(name, 40);
    let room = width().saturating_sub(name.chars().count() + 4);
    format!("  {name}: {}", preview(words, room))
}

fn text_of(content: &[ContentBlock]) -> Option<String> {
    let text = content.iter().filter_map(ContentBlock::as_text).collect::<Vec<_>>().join(" ");
    (!text.trim().is_empty()).then_some(text)
}
