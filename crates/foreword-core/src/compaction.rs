//! Decides when a conversation is compacted and which skills are repeated afterwards. Does not compact anything;
//! [`History`] decides how much a summary may cover.

mod skills;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;

use crate::history::History;
use crate::message::{ContentBlock, Kind, Message, Role};

pub use skills::{LoadedSkill, SkillReminder, skill_reminder, skills_loaded};

/// A fraction of a model's context window, in thousandths.
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
    /// Converts a fraction from 0 to 1. `None` if out of range.
    #[must_use]
    pub fn of_a_whole(written: f64) -> Option<Self> {
        (0.0..=1.0).contains(&written).then(|| Self { thousandths: (written * 1e3).round() as u16 })
    }

    const fn percent(percent: u16) -> Self {
        Self { thousandths: percent * 10 }
    }

    /// That fraction of `window`.
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

/// When a conversation is compacted automatically. Context overflow and explicit requests trigger compaction regardless
/// of this policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionPolicy {
    /// The share of the window that triggers compaction after a turn. `None` disables it.
    pub share: Option<Share>,
    /// The share of the window that triggers background compaction. `None` disables it.
    pub night_share: Option<Share>,
    /// The same in tokens, for models with an unknown window.
    pub night_tokens: usize,
}

impl Default for CompactionPolicy {
    fn default() -> Self {
        Self { share: Some(Share::percent(80)), night_share: Some(Share::percent(30)), night_tokens: 60_000 }
    }
}

/// When the policy is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionTrigger {
    /// A turn has ended and its answer was delivered.
    TurnEnded,
    /// Background compaction, while no user waits.
    Night,
}

/// The size of a conversation, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContextSize {
    /// The size of a request with the whole conversation, prompt included.
    pub weight: usize,
    /// How much a new summary would replace, without the existing summary.
    pub coverable: usize,
    /// The context window.
    pub window: Option<usize>,
}

/// A summary must cover at least this fraction (1/n) of the limit, otherwise the model call is not worth it.
const MIN_COVERED_DIVISOR: usize = 10;

impl CompactionPolicy {
    /// The size limit; `None` if there is none.
    #[must_use]
    pub fn limit(&self, moment: CompactionTrigger, window: Option<usize>) -> Option<usize> {
        match (moment, window) {
            (CompactionTrigger::TurnEnded, window) => Some(self.share?.of(window?)),
            (CompactionTrigger::Night, Some(window)) => Some(self.night_share?.of(window)),
            (CompactionTrigger::Night, None) => self.night_share.map(|_| self.night_tokens),
        }
    }

    /// Whether a conversation is to be compacted now. If prompt and summary alone exceed the limit, it is not compacted
    /// again until enough new messages follow the summary.
    ///
    /// ```
    /// use foreword_core::compaction::{CompactionPolicy, ContextSize, CompactionTrigger};
    /// let policy = CompactionPolicy::default();
    /// let long = ContextSize { weight: 170_000, coverable: 150_000, window: Some(200_000) };
    /// assert!(policy.is_due(CompactionTrigger::TurnEnded, &long));
    /// let hardly_grown = ContextSize { coverable: 900, ..long };
    /// assert!(!policy.is_due(CompactionTrigger::TurnEnded, &hardly_grown));
    /// let window_unknown = ContextSize { window: None, ..long };
    /// assert!(!policy.is_due(CompactionTrigger::TurnEnded, &window_unknown));
    /// assert!(policy.is_due(CompactionTrigger::Night, &window_unknown));
    /// ```
    #[must_use]
    pub fn is_due(&self, moment: CompactionTrigger, measured: &ContextSize) -> bool {
        let Some(limit) = self.limit(moment, measured.window) else { return false };
        measured.weight > limit && measured.coverable >= (limit / MIN_COVERED_DIVISOR).max(1)
    }
}

/// The size reported with the last answer; 0 if none was reported.
#[must_use]
pub fn weight(history: &History) -> usize {
    let total = |message: &Message| {
        let usage = message.message.usage?;
        // The messages that a summary replaced are no longer in the history.
        let is_summary = message.message.kind == Kind::Summary;
        let read = if is_summary { 0 } else { usage.input + usage.cache_read + usage.cache_write };
        Some(read + usage.output)
    };
    let last = history.messages.iter().rev().find_map(total);
    last.map_or(0, |tokens| usize::try_from(tokens).unwrap_or(usize::MAX))
}

/// The size of messages by `count`, for conversations without reported usage.
#[must_use]
pub fn counted(messages: &[&Message], count: impl Fn(&str) -> usize) -> usize {
    // A turn's [`Kind::Sent`] message replaces the messages it took up.
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
        // Internal notes are never sent; other provider blocks are not counted.
        ContentBlock::Other(_) => 0,
    }
}
