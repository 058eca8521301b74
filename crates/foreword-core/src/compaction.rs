//! When a conversation is made shorter by itself, and what is to be said again afterwards because only its history held
//! it. Never shortens anything; [`History`] says how much a summary may cover.

mod skills;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;

use crate::history::History;
use crate::message::{ContentBlock, Kind, Message, Role};

pub use skills::{LoadedSkill, SaidAgain, said_again, skills_loaded};

/// A part of a model's context window, in thousandths.
///
/// ```
/// use foreword_core::compaction::Share;
/// assert_eq!(Share::of_a_whole(0.8).map(|share| share.of(200_000)), Some(160_000));
/// assert_eq!(Share::of_a_whole(1.5), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    thousandths: u16,
}

impl Share {
    /// The share that is written as a part of one. `None` if it is no part of one.
    #[must_use]
    pub fn of_a_whole(written: f64) -> Option<Self> {
        (0.0..=1.0).contains(&written).then(|| Self { thousandths: (written * 1e3).round() as u16 })
    }

    const fn percent(percent: u16) -> Self {
        Self { thousandths: percent * 10 }
    }

    /// That part of `window`.
    #[must_use]
    pub fn of(self, window: usize) -> usize {
        let tokens = window as u128 * u128::from(self.thousandths) / 1000;
        usize::try_from(tokens).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", f64::from(self.thousandths) / 1e3)
    }
}

/// When a conversation is made shorter by itself. That it is too long for the model, or that somebody asks for it, are
/// reasons whatever stands here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionPolicy {
    /// The part of the model's window it may take up when a turn has ended. `None`: it may take up all of it.
    pub share: Option<Share>,
    /// The part it may take up when nobody waits, such as at night. `None`: nothing is done then.
    pub night_share: Option<Share>,
    /// The same in tokens, for models whose window is not known.
    pub night_tokens: usize,
}

impl Default for CompactionPolicy {
    fn default() -> Self {
        Self { share: Some(Share::percent(80)), night_share: Some(Share::percent(30)), night_tokens: 60_000 }
    }
}

/// When the question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// A turn has ended, and its answer is with whoever asked.
    TurnEnded,
    /// Nobody waits.
    Night,
}

/// How much there is of a conversation, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Measured {
    /// What a request with all of it takes, the prompt included.
    pub weight: usize,
    /// What of that a summary would stand for, without the summary there is already.
    pub coverable: usize,
    /// The most a request may hold.
    pub window: Option<usize>,
}

/// A summary must be worth the call: what it stands for has to be at least this part of the most there may be.
const WORTH_IT: usize = 10;

impl CompactionPolicy {
    /// The most a conversation may weigh. `None` if it may weigh anything.
    #[must_use]
    pub fn limit(&self, moment: Moment, window: Option<usize>) -> Option<usize> {
        match (moment, window) {
            (Moment::TurnEnded, window) => Some(self.share?.of(window?)),
            (Moment::Night, Some(window)) => Some(self.night_share?.of(window)),
            (Moment::Night, None) => self.night_share.map(|_| self.night_tokens),
        }
    }

    /// Whether a conversation is to be made shorter now. Where prompt and summary alone weigh more than they may, it is
    /// not done again after every turn: enough must have come behind the summary.
    ///
    /// ```
    /// use foreword_core::compaction::{CompactionPolicy, Measured, Moment};
    /// let policy = CompactionPolicy::default();
    /// let long = Measured { weight: 170_000, coverable: 150_000, window: Some(200_000) };
    /// assert!(policy.is_due(Moment::TurnEnded, &long));
    /// let hardly_grown = Measured { coverable: 900, ..long };
    /// assert!(!policy.is_due(Moment::TurnEnded, &hardly_grown));
    /// let window_unknown = Measured { window: None, ..long };
    /// assert!(!policy.is_due(Moment::TurnEnded, &window_unknown));
    /// assert!(policy.is_due(Moment::Night, &window_unknown));
    /// ```
    #[must_use]
    pub fn is_due(&self, moment: Moment, measured: &Measured) -> bool {
        let Some(limit) = self.limit(moment, measured.window) else { return false };
        measured.weight > limit && measured.coverable >= (limit / WORTH_IT).max(1)
    }
}

/// What a conversation weighs as its last answer reported; 0 if no answer did.
#[must_use]
pub fn weight(history: &History) -> usize {
    let total = |message: &Message| {
        let usage = message.message.usage?;
        // What a summary was made from is not in the history any more.
        let is_summary = message.message.kind == Kind::Summary;
        let read = if is_summary { 0 } else { usage.input + usage.cache_read + usage.cache_write };
        Some(read + usage.output)
    };
    let last = history.messages.iter().rev().find_map(total);
    last.map_or(0, |tokens| usize::try_from(tokens).unwrap_or(usize::MAX))
}

/// What `count` makes of the words a model reads in messages, for where nobody has reported it.
#[must_use]
pub fn counted(messages: &[&Message], count: impl Fn(&str) -> usize) -> usize {
    // What a turn has sent stands for the messages it took up.
    let is_sent = |message: &&&Message| message.message.kind == Kind::Sent;
    let sent: BTreeSet<_> = messages.iter().filter(is_sent).map(|message| &message.message.turn).collect();
    let is_read = |message: &&&Message| {
        let message = &message.message;
        let was_said = message.kind == Kind::Message && message.role == Role::User;
        !was_said || (message.turn.is_some() && !sent.contains(&message.turn))
    };
    let blocks = messages.iter().filter(is_read).flat_map(|message| &message.message.content);
    blocks.map(|block| tokens_of(block, &count)).sum()
}

fn tokens_of(block: &ContentBlock, count: impl Fn(&str) -> usize) -> usize {
    match block {
        ContentBlock::Text { text } => count(text),
        ContentBlock::ToolCall { name, input, .. } => count(name) + count(&input.to_string()),
        ContentBlock::ToolResult { content, .. } => count(content),
        // Notes for ourselves are never sent, and what else a provider sent is its own business.
        ContentBlock::Other(_) => 0,
    }
}
