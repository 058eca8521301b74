//! What somebody asks a prompt for, before the workspace has said who and where that is.

use std::path::PathBuf;
use std::sync::Arc;

use foreword_prompt::occasion::{Channel, Moment, Occasion};
use foreword_prompt::trust::TrustDecision;
use jiff::Zoned;

use crate::config::{Config, User};

/// The channel of somebody who sits at this machine.
pub const TERMINAL: &str = "terminal:default";
/// The situation of a conversation between two.
pub const DIRECT: &str = "dm";

/// What a prompt is asked for. Everything has a default but the time.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The user's name, asserted by whoever may; else the channel tells.
    pub user: Option<Arc<str>>,
    /// Where the message came from. Default: the terminal.
    pub channel: Option<Channel>,
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
    /// Instructions for this conversation alone.
    pub session_instructions: Option<Arc<str>>,
    /// Tokens the conversation so far takes up.
    pub history_tokens: usize,
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
            situation: None,
            agent: None,
            model: None,
            conversation: None,
            cwd: None,
            context: Arc::default(),
            session_instructions: None,
            history_tokens: 0,
            marker,
            now,
        }
    }

    /// Who and where this is, as `config` knows it.
    #[must_use]
    pub fn identify<'a>(&self, config: &'a Config) -> Identified<'a> {
        let channel = self.channel.clone().unwrap_or_else(|| Channel::new(TERMINAL));
        let user = match &self.user {
            Some(name) => config.user(name),
            None => config.user_at(&channel),
        };
        let situation: Arc<str> = self.situation.clone().unwrap_or_else(|| DIRECT.into());
        let trust = config.trust(user, &situation);
        let occasion = Occasion {
            user: user.map(|user| Arc::clone(&user.name)),
            channel: Some(channel),
            situation,
            agent: self.agent.clone().unwrap_or_else(|| Arc::clone(&config.agent.name)),
            model: self.model.clone().unwrap_or_else(|| Arc::clone(&config.agent.model)),
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

/// A time in words.
#[must_use]
pub fn moment(now: &Zoned) -> Moment {
    let zone = now.time_zone().iana_name().map_or_else(|| now.strftime("%:z").to_string(), str::to_owned);
    Moment {
        timestamp: now.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into(),
        date: now.strftime("%Y-%m-%d").to_string().into(),
        time: now.strftime("%H:%M").to_string().into(),
        weekday: now.strftime("%A").to_string().into(),
        zone: zone.into(),
    }
}
