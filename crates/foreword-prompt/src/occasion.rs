//! The occasion of a prompt: who is speaking, where, to which agent and model, and when. All values are passed in.

use std::fmt;
use std::sync::Arc;

/// A channel such as `signal:+15550100`; its family is the part before the first colon.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Channel(Arc<str>);

impl Channel {
    /// The channel as a bridge names it.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The channel as a bridge names it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The family, if it is a plain word: it becomes part of a file name.
    ///
    /// ```
    /// use foreword_prompt::occasion::Channel;
    /// assert_eq!(Channel::new("discord:guild:123").family(), Some("discord"));
    /// assert_eq!(Channel::new("terminal").family(), Some("terminal"));
    /// assert_eq!(Channel::new("../etc:x").family(), None);
    /// ```
    #[must_use]
    pub fn family(&self) -> Option<&str> {
        let family = self.0.split(':').next().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        (!family.is_empty() && family.len() <= 64 && family.chars().all(plain)).then_some(family)
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A point in time, already formatted by the caller, which has the clock and the time zone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FormattedTime {
    /// Such as `2026-11-16T08:30:00Z`.
    pub timestamp: Arc<str>,
    /// Such as `2026-11-16`.
    pub date: Arc<str>,
    /// Such as `08:30`.
    pub time: Arc<str>,
    /// Such as `Monday`.
    pub weekday: Arc<str>,
    /// Such as `Europe/Berlin` or `UTC`.
    pub zone: Arc<str>,
}

/// Who is speaking, where, to which agent and model, and when.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Occasion {
    /// The user, if the speaker is known.
    pub user: Option<Arc<str>>,
    /// Where the message came from.
    pub channel: Option<Channel>,
    /// Such as `dm`, `group`, `system`.
    pub situation: Arc<str>,
    /// The agent's name.
    pub agent: Arc<str>,
    /// The model, such as `anthropic/claude-sonnet-4-6`.
    pub model: Arc<str>,
    /// The conversation, if there is one yet.
    pub conversation: Option<Arc<str>>,
    /// The current time.
    pub now: FormattedTime,
}
