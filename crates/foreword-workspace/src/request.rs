//! A request for a prompt, before the user and the situation are resolved.

use std::path::PathBuf;
use std::sync::Arc;

use foreword_core::models::Factor;
use foreword_core::template_context::TemplateContext;
use foreword_prompt::last_good::LastGood;
use foreword_prompt::occasion::FormattedTime;
use foreword_prompt::stored::StoredTexts;
use foreword_prompt::text::ContentHash;
use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::Trust;
use jiff::civil::Weekday;
use jiff::{Timestamp, Zoned};

use crate::config::Config;
use crate::speaker::{Principal, Speaker};

/// The channel of the local user.
pub const TERMINAL: &str = "terminal:default";
/// The situation of a conversation with one user.
pub const DIRECT: &str = "dm";

/// The steps that a small history size is rounded up to, in tokens.
const SMALL_STEPS: [usize; 6] = [0, 1_000, 2_000, 5_000, 10_000, 20_000];
/// The step for larger sizes.
const LARGE_STEP: usize = 20_000;

/// Who executes the model's tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ToolsOf {
    /// This agent, so the prompt describes its tools.
    #[default]
    Agent,
    /// The client, which describes its own tools: the prompt mentions no tool, and nothing that needs one.
    Client,
}

/// How a build treats the sources of frozen layers, and failures among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SourcePolicy {
    /// A failed required source fails the build.
    #[default]
    Require,
    /// A failed required source omits its layer and is listed in the built prompt's failures. For a turn that already
    /// has its frozen prompt.
    Tolerate,
    /// Sources of frozen layers are not read; only the turn's layers are built.
    TurnLayersOnly,
}

/// A request for a prompt. Every field except the time has a default.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Who speaks, and where.
    pub speaker: Speaker,
    /// The conversation.
    pub conversation: Option<Arc<str>>,
    /// The working directory. Default: the workspace.
    pub cwd: Option<PathBuf>,
    /// Template values.
    pub context: Arc<TemplateContext>,
    /// The state of a self-supporting agent, for the situation layer. Not available to templates, because it contains
    /// text from outside. Default: `context`.
    pub state: Option<Arc<serde_json::Map<String, serde_json::Value>>>,
    /// Instructions for this conversation only.
    pub session_instructions: Option<Arc<str>>,
    /// The tokens of the conversation's history.
    pub history_tokens: usize,
    /// The correction factor of the token estimate, learned from the model's answers. Default: that of the model table.
    pub calibration: Option<Factor>,
    /// Tools of MCP servers, in addition to those of the configuration, in a stable order.
    pub more_tools: Arc<[ToolSpec]>,
    /// Who executes tool calls. Default: the agent.
    pub tools_of: ToolsOf,
    /// The stored template and layers. Default: none, so files and built-in texts are used.
    pub stored: Option<Arc<StoredTexts>>,
    /// The versions to use for failed sources. Default: none.
    pub last_good: Option<Arc<LastGood>>,
    /// How to treat failed sources. Default: a required one fails the build.
    pub sources: SourcePolicy,
    /// Unguessable bytes that delimit text from outside.
    pub marker: [u8; 16],
    /// The current time.
    pub now: Zoned,
}

impl Request {
    /// A request from the terminal at `now`.
    #[must_use]
    pub fn at(now: Zoned, marker: [u8; 16]) -> Self {
        Self {
            speaker: Speaker::default(),
            conversation: None,
            cwd: None,
            context: Arc::default(),
            state: None,
            session_instructions: None,
            history_tokens: 0,
            calibration: None,
            more_tools: Arc::default(),
            tools_of: ToolsOf::Agent,
            stored: None,
            last_good: None,
            sources: SourcePolicy::Require,
            marker,
            now,
        }
    }

    /// A hash of the template values, or `None` if there are none.
    pub(crate) fn context_hash(&self) -> Option<ContentHash> {
        // A map of JSON values always serialises.
        let written = || serde_json::to_string(&*self.context).unwrap_or_default();
        (!self.context.is_empty()).then(|| ContentHash::of(&written()))
    }

    /// The state of a self-supporting agent.
    pub(crate) fn state(&self) -> &serde_json::Map<String, serde_json::Value> {
        self.state.as_deref().unwrap_or(&self.context)
    }

    /// The history size, rounded up to the next step. The menu shows only the step, so that not every message changes
    /// the prompt.
    pub(crate) fn history_to_the_next_step(&self) -> usize {
        let small = SMALL_STEPS.into_iter().find(|step| self.history_tokens <= *step);
        small.unwrap_or_else(|| self.history_tokens.div_ceil(LARGE_STEP).saturating_mul(LARGE_STEP))
    }

    /// Foreword's tools that the model may use at this trust: those of the configuration, then those of MCP servers.
    pub(crate) fn tools(&self, config: &Config, trust: Trust) -> Vec<ToolSpec> {
        match self.tools_of {
            ToolsOf::Agent => config.tools_at(trust, &self.more_tools),
            ToolsOf::Client => Vec::new(),
        }
    }

    /// The speaker, resolved by `config`.
    #[must_use]
    pub fn principal(&self, config: &Config) -> Principal {
        self.speaker.resolve(config, self.conversation.clone(), &self.now)
    }
}

/// Formats a time. Runs in every turn of a new minute, so it avoids parsing format strings.
#[must_use]
pub fn formatted_time(now: &Zoned) -> FormattedTime {
    let zone = now.time_zone().iana_name().map_or_else(|| now.strftime("%:z").to_string().into(), Into::into);
    let second = Timestamp::from_second(now.timestamp().as_second()).unwrap_or_default();
    FormattedTime {
        timestamp: second.to_string().into(),
        date: now.date().to_string().into(),
        time: format!("{:02}:{:02}", now.hour(), now.minute()).into(),
        weekday: weekday(now.weekday()).into(),
        zone,
    }
}

fn weekday(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
        Weekday::Sunday => "Sunday",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(time: &str, expected: [&str; 5]) {
        let now = formatted_time(&time.parse().unwrap());
        assert_eq!(
            [now.timestamp, now.date, now.time, now.weekday, now.zone].map(|word| word.to_string()),
            expected
        );
    }

    #[test]
    fn times_are_local_minutes_and_utc_seconds() {
        check(
            "2026-11-16T08:05:09.987654321+01:00[Europe/Berlin]",
            ["2026-11-16T07:05:09Z", "2026-11-16", "08:05", "Monday", "Europe/Berlin"],
        );
        check(
            "2027-01-03T23:59:60-03:30[-03:30]",
            ["2027-01-04T03:29:59Z", "2027-01-03", "23:59", "Sunday", "-03:30"],
        );
    }
}
