//! The end of a conversation that is gone on with, as a reminder. Shows nothing above the trust of whoever sits there.

use foreword_core::history::History;
use foreword_core::message::{ContentBlock, Kind, Message, Role};
use foreword_prompt::untrusted::{preview, single_line};

/// How much of each side is shown.
const SHOWN: usize = 300;

/// The last thing that was said and what was answered, each on a line.
pub(crate) fn last_exchange(history: &History, agent: &str) -> Vec<String> {
    let own = |message: &&Message| message.message.kind == Kind::Message;
    let said: Vec<&Message> = history.messages.iter().filter(own).collect();
    let Some(at) = said.iter().rposition(|message| message.message.role == Role::User) else {
        return Vec::new();
    };
    let author = said[at].message.author.as_deref().unwrap_or("somebody");
    let mut lines: Vec<String> =
        words(&said[at..=at]).map(|words| line(author, &words)).into_iter().collect();
    let answers: Vec<&Message> =
        said[at..].iter().copied().filter(|message| message.message.role == Role::Assistant).collect();
    lines.extend(words(&answers).map(|words| line(agent, &words)));
    lines
}

fn line(name: &str, words: &str) -> String {
    format!("{}: {}", single_line(name, 40), preview(words, SHOWN))
}

/// All words of some messages.
fn words(messages: &[&Message]) -> Option<String> {
    let blocks = messages.iter().flat_map(|message| &message.message.content);
    let texts = blocks.filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let words = texts.collect::<Vec<_>>().join(" ");
    (!words.trim().is_empty()).then_some(words)
}
