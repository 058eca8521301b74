//! Resolves who is speaking. A transport states a [`Speaker`]; [`Speaker::resolve`] is the only function that turns it
//! into a [`Principal`], by the users, situations and agents of the configuration.

use std::sync::Arc;

use foreword_prompt::occasion::{Channel, Occasion};
use foreword_prompt::trust::{Trust, TrustDecision};
use jiff::Zoned;

use crate::config::Config;
use crate::request::{DIRECT, TERMINAL, formatted_time};

/// Who speaks and where, as a transport states it. Nothing in it is checked yet.
///
/// Caches use the whole value as their key, so a field that is added here is part of every key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Speaker {
    /// The user's name, stated by a caller that may assert it. Default: the user whose channel this is.
    pub user: Option<Arc<str>>,
    /// Where the message came from, as `family:identifier`. Default: the terminal.
    pub channel: Option<Channel>,
    /// The author within a shared channel: `signal:+15550100` in `signal:group-7`. Default: the channel.
    pub sender: Option<Channel>,
    /// The kind of conversation, such as `group`. Default: `dm`.
    pub situation: Option<Arc<str>>,
    /// The agent that is addressed. Default: the first one of the configuration.
    pub agent: Option<Arc<str>>,
    /// The model. Default: the agent's.
    pub model: Option<Arc<str>>,
    /// The trust of an unknown user, where the owner's configuration sets it. Default: `public`.
    pub unknown_trust: Option<Trust>,
    /// The least trusted reader of the answer, which limits the trust. Default: only the speaker reads it.
    pub audience: Option<Trust>,
}

/// A configured user.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KnownUser {
    /// The name.
    pub name: Arc<str>,
    /// The trust that the configuration gives the user; the situation may lower it.
    pub trust: Trust,
}

/// A speaker resolved by a configuration: the user, the effective trust, and the occasion of the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal {
    /// The configured user; `None` for an unknown speaker.
    pub user: Option<KnownUser>,
    /// The user's trust, limited by the situation and the audience.
    pub trust: TrustDecision,
    /// Who, where, to which agent and model, and when: what the prompt states.
    pub occasion: Occasion,
}

impl Principal {
    /// The name of the configured user.
    #[must_use]
    pub fn user_name(&self) -> Option<&Arc<str>> {
        self.user.as_ref().map(|user| &user.name)
    }
}

impl Speaker {
    /// The principal that this speaker is under `config`. A turn resolves its speaker again when it starts, since the
    /// configuration may have changed.
    #[must_use]
    pub fn resolve(&self, config: &Config, conversation: Option<Arc<str>>, now: &Zoned) -> Principal {
        let channel = self.channel.clone().unwrap_or_else(|| Channel::new(TERMINAL));
        // In a shared channel only the sender identifies the user.
        let user = config.speaker(self.user.as_deref(), Some(self.sender.as_ref().unwrap_or(&channel)));
        let user = user.map(|user| KnownUser { name: Arc::clone(&user.name), trust: user.trust });
        let situation: Arc<str> = self.situation.clone().unwrap_or_else(|| DIRECT.into());
        let unknown_trust = self.unknown_trust.unwrap_or(Trust::Public);
        let own_trust = user.as_ref().map_or(unknown_trust, |user| user.trust);
        let trust = TrustDecision::new(own_trust, config.ceiling(&situation));
        let trust = self.audience.map_or(trust, |audience| trust.limited_to_audience(audience));
        // Each agent's configuration lists all agents.
        let member = self.agent.as_deref().filter(|_| config.roster.has_several());
        let member = member.and_then(|name| config.roster.find(name));
        let model = member.map_or(&config.agent.model, |member| &member.model);
        let agent = member.map(|member| &member.name).or(self.agent.as_ref());
        let occasion = Occasion {
            user: user.as_ref().map(|user| Arc::clone(&user.name)),
            channel: Some(channel),
            situation,
            agent: Arc::clone(agent.unwrap_or(&config.agent.name)),
            model: Arc::clone(self.model.as_ref().unwrap_or(model)),
            conversation,
            now: formatted_time(now),
        };
        Principal { user, trust, occasion }
    }
}
