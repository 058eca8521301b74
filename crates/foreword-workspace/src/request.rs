//! What somebody asks a prompt for, before the workspace has said who and where that is.

use std::path::PathBuf;
use std::sync::Arc;

use foreword_core::models::Factor;
use foreword_prompt::occasion::{Channel, Moment, Occasion};
use foreword_prompt::stored::StoredTexts;
use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::{Trust, TrustDecision};
use jiff::civil::Weekday;
use jiff::{Timestamp, Zoned};

use crate::config::{Config, User};
use crate::ordered_value::OrderedValue;

/// The channel of somebody who sits at this machine.
pub const TERMINAL: &str = "terminal:default";
/// The situation of a conversation between two.
pub const DIRECT: &str = "dm";

/// The sizes of a history that are told apart while it is small, in tokens.
const SMALL_STEPS: [usize; 6] = [0, 1_000, 2_000, 5_000, 10_000, 20_000];
/// And when it is large.
const LARGE_STEP: usize = 20_000;

/// Who runs the tools of the model that reads a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ToolsOf {
    /// This agent, so the prompt tells of them.
    #[default]
    Agent,
    /// Somebody else's program, which tells of its own: the prompt names no tool, and nothing that needs one.
    Client,
}

/// What a prompt is asked for. Everything has a default but the time.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The user's name, asserted by whoever may; else the channel tells.
    pub user: Option<Arc<str>>,
    /// Where the message came from. Default: the terminal.
    pub channel: Option<Channel>,
    /// Who speaks there, as the channel names them: `signal:+15550100` in `signal:group-7`. Default: the channel tells.
    pub sender: Option<Channel>,
    /// Such as `group`. Default: `dm`.
    pub situation: Option<Arc<str>>,
    /// The agent's name. Default: the configured one.
    pub agent: Option<Arc<str>>,
    /// The model. Default: the configured one.
    pub model: Option<Arc<str>>,
    /// The conversation.
    pub conversation: Option<Arc<str>>,
    /// The working directory. Default: the workspace.
    pub cwd: Option<PathBuf>,
    /// Values for templates, and the state of a self-supporting agent.
    pub context: Arc<serde_json::Map<String, serde_json::Value>>,
    /// The same values with their maps in the order they were written in, which templates iterate in. Default: sorted.
    pub ordered_context: Option<Arc<OrderedValue>>,
    /// Instructions for this conversation alone.
    pub session_instructions: Option<Arc<str>>,
    /// Tokens the conversation so far takes up.
    pub history_tokens: usize,
    /// What the model's answers have taught about the estimate of its tokens. Default: what is known of the model.
    pub calibration: Option<Factor>,
    /// The least trusted of those who hear what is said; nobody is trusted with more. Default: only the user hears it.
    pub audience: Option<Trust>,
    /// How far whoever is not known is trusted. Default: `public`. Only the owner's configuration may say otherwise.
    pub strangers: Trust,
    /// Tools from elsewhere, besides those of the configuration, in a stable order.
    pub more_tools: Arc<[ToolSpec]>,
    /// Who runs the tools. Default: the agent.
    pub tools_of: ToolsOf,
    /// The template and the layers that were stored. Default: nothing was, so files and built-in texts are used.
    pub stored: Option<Arc<StoredTexts>>,
    /// Unguessable bytes that mark text from outside.
    pub marker: [u8; 16],
    /// When.
    pub now: Zoned,
}

impl Request {
    /// A request from the terminal, now.
    #[must_use]
    pub fn at(now: Zoned, marker: [u8; 16]) -> Self {
        Self {
            user: None,
            channel: None,
            sender: None,
            situation: None,
            agent: None,
            model: None,
            conversation: None,
            cwd: None,
            context: Arc::default(),
            ordered_context: None,
            session_instructions: None,
            history_tokens: 0,
            calibration: None,
            audience: None,
            strangers: Trust::Public,
            more_tools: Arc::default(),
            tools_of: ToolsOf::Agent,
            stored: None,
            marker,
            now,
        }
    }

    /// What the conversation so far takes up, to the next step: the menu tells no more of it, so that it need not be told
    /// again, nor a prompt be made again, for every message.
    pub(crate) fn history_to_the_next_step(&self) -> usize {
        let small = SMALL_STEPS.into_iter().find(|step| self.history_tokens <= *step);
        small.unwrap_or_else(|| self.history_tokens.div_ceil(LARGE_STEP).saturating_mul(LARGE_STEP))
    }

    /// The tools of ours the model may use at this trust: those of the configuration, then those from elsewhere.
    pub(crate) fn tools(&self, config: &Config, trust: Trust) -> Vec<ToolSpec> {
        match self.tools_of {
            ToolsOf::Agent => config.tools_at(trust, &self.more_tools),
            ToolsOf::Client => Vec::new(),
        }
    }

    /// Who and where this is, as `config` knows it.
    #[must_use]
    pub fn identify<'a>(&self, config: &'a Config) -> Identified<'a> {
        let channel = self.channel.clone().unwrap_or_else(|| Channel::new(TERMINAL));
        // Where several people speak, the place says nothing of who does.
        let user = config.speaker(self.user.as_deref(), Some(self.sender.as_ref().unwrap_or(&channel)));
        let situation: Arc<str> = self.situation.clone().unwrap_or_else(|| DIRECT.into());
        let trust =
            TrustDecision::new(user.map_or(self.strangers, |user| user.trust), config.ceiling(&situation));
        let trust = self.audience.map_or(trust, |audience| trust.heard_by(audience));
        let agent = self.agent.as_deref();
        // Whichever agent's configuration is asked: all know of each other.
        let member = agent.filter(|_| config.roster.has_company()).and_then(|name| config.roster.find(name));
        let model = member.map_or(&config.agent.model, |member| &member.model);
        let occasion = Occasion {
            user: user.map(|user| Arc::clone(&user.name)),
            channel: Some(channel),
            situation,
            agent: member
                .map(|member| &member.name)
                .or(self.agent.as_ref())
                .map_or_else(|| Arc::clone(&config.agent.name), Arc::clone),
            model: self.model.clone().unwrap_or_else(|| Arc::clone(model)),
            conversation: self.conversation.clone(),
            now: moment(&self.now),
        };
        Identified { user, occasion, trust }
    }
}

/// A request whose person and place are known.
#[derive(Debug, Clone)]
pub struct Identified<'a> {
    /// The known user, if there is one.
    pub user: Option<&'a User>,
    /// The occasion.
    pub occasion: Occasion,
    /// The trust that counts.
    pub trust: TrustDecision,
}

/// A time in words. On the path of every turn whose minute is new, hence no format strings that have to be read first.
#[must_use]
pub fn moment(now: &Zoned) -> Moment {
    let zone = now.time_zone().iana_name().map_or_else(|| now.strftime("%:z").to_string().into(), Into::into);
    let second = Timestamp::from_second(now.timestamp().as_second()).unwrap_or_default();
    Moment {
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
        let now = moment(&time.parse().unwrap());
        assert_eq!(
            [now.timestamp, now.date, now.time, now.weekday, now.zone].map(|word| word.to_string()),
            expected
        );
    }

    #[test]
    fn a_time_is_told_to_the_minute_where_it_is_and_to_the_second_in_utc() {
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
