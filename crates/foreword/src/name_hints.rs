//! Warnings about channels, agents and models on the command line that nothing knows, with the nearest known name. All of
//! them are allowed; a typo should not pass in silence.

use std::collections::BTreeSet;

use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::untrusted::display_line;
use foreword_workspace::config::Config;

use crate::cli::OccasionArgs;
use crate::output::Output;

/// The provider that is part of the program.
const OFFLINE: &str = "offline";
/// The channel of this terminal.
const TERMINAL: &str = "terminal:default";
/// The blueprint that finds a prompt file by the agent's name, whatever that is.
const NAMED_FILES: &str = "agent";

/// What a command line names.
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
    /// Warns about each name that `config` does not know.
    pub(crate) fn warn(&self, config: &Config, output: &Output) {
        let hints = [self.channel_hint(config), self.agent_hint(config), self.model_hint(config)];
        for hint in hints.into_iter().flatten() {
            output.warn(&hint);
        }
    }

    /// The channel decides who speaks, unless a user is named; then only its family counts.
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
            return Some(format!("nobody here writes from `{shown}`, so this is `public`{near}"));
        }
        let families: BTreeSet<&str> = known.iter().map(|known| family(known)).collect();
        let near = did_you_mean(family(channel), families.iter().copied())
            .filter(|near| *near != family(channel))?;
        Some(format!("nobody here writes from a channel such as `{shown}`{}", suggestion(Some(near))))
    }

    /// Where there are several agents an unknown one is an error, with its own hint.
    fn agent_hint(&self, config: &Config) -> Option<String> {
        let (agent, own) = (self.agent?, &*config.agent.name);
        if agent == own || config.roster.has_company() || &*config.blueprint.name == NAMED_FILES {
            return None;
        }
        let near = did_you_mean(agent, [own])?;
        Some(format!("the agent here is not called `{}`{}", display_line(agent, 80), suggestion(Some(near))))
    }

    fn model_hint(&self, config: &Config) -> Option<String> {
        let model = self.model?;
        let shown = display_line(model, 80);
        let known: Vec<&str> = config.models.iter().map(|facts| facts.id.as_str()).collect();
        let Some((provider, _)) = model.split_once('/') else {
            let with_provider = known.iter().copied().find(|known| known.ends_with(&format!("/{model}")));
            let near = with_provider.or_else(|| did_you_mean(model, known));
            return Some(format!("model `{shown}` names no provider{}", suggestion(near)));
        };
        let providers: Vec<&str> = config.providers.keys().map(|name| &**name).chain([OFFLINE]).collect();
        if !providers.contains(&provider) {
            let near = suggestion(did_you_mean(provider, providers));
            let provider = display_line(provider, 80);
            return Some(format!("nobody serves `{shown}`: there is no provider `{provider}`{near}"));
        }
        if config.models.find(model).is_some() {
            return None;
        }
        let near = did_you_mean(model, known)?;
        Some(format!("model `{shown}` is not known{}", suggestion(Some(near))))
    }
}

fn family(channel: &str) -> &str {
    channel.split(':').next().unwrap_or(channel)
}

fn suggestion(near: Option<&str>) -> String {
    near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default()
}
