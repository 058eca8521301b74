//! Arguments of `foreword simulate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use foreword_core::price::CacheTtl;
use foreword_core::simulate::{Pauses, seconds};

use super::OccasionArgs;

const AFTER_HELP: &str = "\
Compares three ways to send this workspace's prompt: frozen and appended to, as Foreword does; the
same layers rebuilt every turn, with the time in the middle; and every file included in full. Sizes
are those of this workspace's prompt on this occasion. No request is sent.

Examples:
  foreword simulate                                             100 turns, 90 seconds apart
  foreword simulate --turns 400 --pause 10s..20m --edit-every 20
  foreword simulate --pause 8m --ttl 1h                         is a TTL of an hour worth its price?
  foreword simulate --tool-rounds 6 --tool-tokens 1500          an agent that works with tools
  foreword simulate --night-every 30 --model anthropic/claude-haiku-4-5 --model openai/gpt-4o
  foreword --json simulate --user bob --situation group

See docs/simulate.md for the assumptions and the source of each figure.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct SimulateArgs {
    /// The number of messages from the user, up to 100000
    #[arg(long, default_value_t = 100, value_name = "N")]
    pub(crate) turns: usize,
    /// The size of each message in tokens
    #[arg(long, default_value_t = 80, value_name = "N")]
    pub(crate) message_tokens: usize,
    /// The size of each answer in tokens
    #[arg(long, default_value_t = 250, value_name = "N")]
    pub(crate) answer_tokens: usize,
    /// The number of tool calls before an answer [default: 1, or 0 without tools]
    #[arg(long, value_name = "N")]
    pub(crate) tool_rounds: Option<usize>,
    /// The size of each tool result in tokens
    #[arg(long, default_value_t = 400, value_name = "N")]
    pub(crate) tool_tokens: usize,
    /// The time between two turns, such as 90s or 5m; with 10s..20m each pause is twice the previous one, then it starts over
    #[arg(long, default_value = "90s", value_name = "DUR|A..B")]
    pub(crate) pause: ParsedArg<Pauses>,
    /// Insert a pause of eight hours before every Nth turn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) night_every: Option<u32>,
    /// Edit a file of the workspace before every Nth turn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) edit_every: Option<u32>,
    /// The cache TTL of the prefix that all conversations share [default: prompt.cache.ttl]
    #[arg(long, value_enum)]
    pub(crate) ttl: Option<Ttl>,
    /// How long an automatic cache keeps unused entries [default: 5m; 30m if the provider supports breakpoints]
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(crate) idle: Option<u64>,
    /// A model, as provider/name; can be repeated [default: the agent's, else one of each kind]
    #[arg(long = "model", value_name = "MODEL", value_delimiter = ',')]
    pub(crate) models: Vec<String>,
    /// The user [default: the channel's user]
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// The messages' channel, such as signal:+15550100 [default: terminal:default]
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    /// The situation: dm, group, system, or a configured one [default: dm]
    #[arg(long, value_name = "NAME")]
    pub(crate) situation: Option<String>,
    /// The agent's name [default: as configured]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// A value for templates, or a line of a sovereign agent's state; JSON if it parses, else text
    #[arg(long, value_name = "K=V", num_args = 1..)]
    pub(crate) context: Vec<String>,
    /// A JSON or YAML file of values for templates
    #[arg(long, value_name = "FILE")]
    pub(crate) context_file: Option<PathBuf>,
}

impl SimulateArgs {
    pub(crate) fn occasion(&self) -> OccasionArgs {
        OccasionArgs {
            user: self.user.clone(),
            channel: self.channel.clone(),
            situation: self.situation.clone(),
            agent: self.agent.clone(),
            context: self.context.clone(),
            context_file: self.context_file.clone(),
            ..OccasionArgs::default()
        }
    }
}

/// A value and the argument it was parsed from.
#[derive(Debug, Clone)]
pub(crate) struct ParsedArg<T> {
    pub(crate) value: T,
    pub(crate) text: String,
}

impl<T: std::str::FromStr> std::str::FromStr for ParsedArg<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        Ok(Self { value: text.parse()?, text: text.to_owned() })
    }
}

fn duration(text: &str) -> Result<u64, String> {
    seconds(text).ok_or_else(|| "write 90s, 5m, 2h or 1d".to_owned())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ttl {
    /// Five minutes since the last read
    #[value(name = "5m")]
    FiveMinutes,
    /// An hour since the last read; cache writes cost more
    #[value(name = "1h")]
    OneHour,
}

impl From<Ttl> for CacheTtl {
    fn from(ttl: Ttl) -> Self {
        match ttl {
            Ttl::FiveMinutes => Self::FiveMinutes,
            Ttl::OneHour => Self::OneHour,
        }
    }
}
