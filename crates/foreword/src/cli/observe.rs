//! The words for looking into what happened: the log, one turn, and what it all cost.

use clap::{Args, ValueEnum};
use foreword_agent::cost_report::ToldApart;
use foreword_store::events::CostBy;

use super::OccasionArgs;

/// Who looks, and where from: with less trust there is less to see. Other words than elsewhere, because here `--user` and
/// `--channel` say whose events are meant.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Who looks")]
pub(crate) struct LookArgs {
    /// Look as this user would [default: whoever sits at the terminal]
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) as_user: Option<String>,
    /// Look from this channel, such as signal:+15550100 [default: terminal:default]
    #[arg(long = "at", value_name = "CHANNEL")]
    pub(crate) at_channel: Option<String>,
    /// Look from this kind of place: dm, group, system, or one of your own [default: dm]
    #[arg(long, value_name = "NAME")]
    pub(crate) situation: Option<String>,
    /// The conversation they are in: whoever is no owner sees that one alone
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
}

impl LookArgs {
    pub(crate) fn occasion(&self) -> OccasionArgs {
        let Self { as_user: user, at_channel: channel, situation, .. } = self.clone();
        OccasionArgs { user, channel, situation, ..OccasionArgs::default() }
    }
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Only this conversation's
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Only this level and worse: debug, info, warn, error
    #[arg(long, value_name = "LEVEL")]
    pub(crate) level: Option<String>,
    /// Only this type, under either of its names: api_error or provider_error
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) event_type: Option<String>,
    /// Only this user's
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Only this channel's
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    /// Only this turn's
    #[arg(long, value_name = "ID")]
    pub(crate) turn: Option<String>,
    /// Only what happened since: 30m, 12h, 7d, today, 2026-11-16
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Only what happened before
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// How many at most, counted from the newest
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: u32,
    /// Wait for more, until Ctrl-C
    #[arg(short, long, conflicts_with = "until")]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// The turn: its id, enough of the beginning of its id, or `last`; or the id of a message or of a proxied request
    pub(crate) turn: String,
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// What costs are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum By {
    /// Where this machine is
    #[default]
    Day,
    /// The conversation
    Session,
    /// Who it was for
    User,
    /// The model that was called
    Model,
    /// The agent that answered
    Agent,
}

impl By {
    pub(crate) fn told_apart(self) -> ToldApart {
        match self {
            Self::Day => ToldApart::ByDay,
            Self::Session => ToldApart::By(CostBy::Session),
            Self::User => ToldApart::By(CostBy::User),
            Self::Model => ToldApart::By(CostBy::Model),
            Self::Agent => ToldApart::By(CostBy::Agent),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct CacheArgs {
    /// Only requests since: 12h, 7d, today, 2026-11-16 [default: the last 30 days]
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CostArgs {
    /// What to tell apart
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = By::Day)]
    pub(crate) by: By,
    /// Only what was spent since: 12h, 7d, today, 2026-11-16 [default: the last 30 days]
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Only what was spent before
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    #[command(flatten)]
    pub(crate) look: LookArgs,
}
