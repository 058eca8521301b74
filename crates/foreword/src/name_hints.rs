//! Warnings about unknown channels, agents and models on the command line, with the nearest known name. They are
//! allowed, but may be typos.

use std::collections::BTreeSet;

use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::untrusted::display_line;
use foreword_workspace::config::Config;

use crate::cli::OccasionArgs;
use crate::output::Output;

/// The name of the built-in provider.
const OFFLINE: &str = "offline";
/// The channel of this terminal.
const TERMINAL: &str = "terminal:default";
/// The blueprint that looks up a prompt file by the agent's name, so that every name is valid.
const NAMED_FILES: &str = "agent";

/// The names on a command line.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Names<'a> {
    pub(crate) user: Option<&'a str>,
    pub(crate) channel: Option<&'a str>,
    pub(crate) agent: Option<&'a str>,
    pub(crate) model: Option<&'a str>,
}

impl<'a> From<&'a OccasionArgs> for Names<'a> {
    fn from(args: &'a OccasionArgs) -> Self {
        Self {
            user: args.user.as_deref(),
            channel: args.channel.as_deref(),
            agent: args.agent.as_deref(),
            model: args.model.as_deref(),
        }
    }
}

impl Names<'_> {
    /// Warns about each name that is not in `config`.
    pub(crate) fn warn(&self, config: &Config, output: &Output) {
        let hints = [self.channel_hint(config), self.agent_hint(config), self.model_hint(config)];
        for hint in hints.into_iter().flatten() {
            output.warn(&hint);
        }
    }

    /// Without a user the channel decides who the user is. With one, only the channel's family counts.
    fn channel_hint(&self, config: &Config) -> Option<String> {
        let channel = self.channel?;
        let known: Vec<&str> = config
            .users
            .iter()
            .flat_map(|user| &user.channels)
            .map(|known| known.as_str())
            .chain([TERMINAL])
            .collect();
        if known.contains(&channel) {
            return None;
        }
        let shown = display_line(channel, 80);
        if self.user.is_none() {
            let near = suggestion(did_you_mean(channel, known));
            return Some(format!("no user has the channel `{shown}`, so trust is `public`{near}"));
        }
        let families: BTreeSet<&str> = known.iter().map(|known| family(known)).collect();
        let near = did_you_mean(family(channel), families.iter().copied())
            .filter(|near| *near != family(channel))?;
        Some(format!("no user has a channel such as `{shown}`{}", suggestion(Some(near))))
    }

    /// With several agents an unknown one is an error instead, with its own hint.
    fn agent_hint(&self, config: &Config) -> Option<String> {
        let (agent, own) = (self.agent?, &*config.agent.name);
        if agent == own || config.roster.has_several() || &*config.blueprint.name == NAMED_FILES {
            return None;
        }
        let near = did_you_mean(agent, [own])?;
        Some(format!("unknown agent `{}`{}", display_line(agent, 80), suggestion(Some(near))))
    }

    fn model_hint(&self, config: &Config) -> Option<String> {
        let model = self.model?;
        let shown = display_line(model, 80);
        let known: Vec<&str> = config.models.iter().map(|facts| facts.id.as_str()).collect();
        let Some((provider, _)) = model.split_once('/') else {
            let with_provider = known.iter().copied().find(|known| known.ends_with(&format!("/{model}")));
            let near = with_provider.or_else(|| did_you_mean(model, known));
            return Some(format!("model `{shown}` has no provider prefix{}", suggestion(near)));
        };
        let providers: Vec<&str> = config.providers.keys().map(|name| &**name).chain([OFFLINE]).collect();
        if !providers.contains(&provider) {
            let near = suggestion(did_you_mean(provider, providers));
            let provider = display_line(provider, 80);
            return Some(format!("unknown provider `{provider}` in `{shown}`{near}"));
        }
        if config.models.find(model).is_some() {
            return None;
        }
        let near = did_you_mean(model, known)?;
        Some(format!("unknown model `{shown}`{}", suggestion(Some(near))))
    }
}

fn family(channel: &str) -> &str {
    channel.split(':').next().unwrap_or(channel)
}

fn suggestion(near: Option<&str>) -> String {
    near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default()
}
