//! Arguments of `foreword logs`, `trace`, `cache` and `cost`.

use clap::{Args, ValueEnum};
use foreword_agent::reports::cost_report::CostGrouping;
use foreword_store::events::CostBy;

use super::OccasionArgs;

/// The viewer, whose trust decides what is visible. The options have other names than elsewhere, since here `--user` and
/// `--channel` filter events.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Viewer")]
pub(crate) struct ViewerArgs {
    /// Show what this user may see [default: the user at this terminal]
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) as_user: Option<String>,
    /// The viewer's channel, such as signal:+15550100 [default: terminal:default]
    #[arg(long = "at", value_name = "CHANNEL")]
    pub(crate) at_channel: Option<String>,
    /// The viewer's situation: dm, group, system, or a configured one [default: dm]
    #[arg(long, value_name = "NAME")]
    pub(crate) situation: Option<String>,
    /// The viewer's conversation: other users than the owner see only this one
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
}

impl ViewerArgs {
    pub(crate) fn occasion(&self) -> OccasionArgs {
        let Self { as_user: user, at_channel: channel, situation, .. } = self.clone();
        OccasionArgs { user, channel, situation, ..OccasionArgs::default() }
    }
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Only events of this conversation
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Only this level and above: debug, info, warn, error
    #[arg(long, value_name = "LEVEL")]
    pub(crate) level: Option<String>,
    /// Only this type, under either of its names: api_error or provider_error
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) event_type: Option<String>,
    /// Only this user
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Only this channel
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    /// Only this turn
    #[arg(long, value_name = "ID")]
    pub(crate) turn: Option<String>,
    /// Only events since: 30m, 12h, 7d, today, 2026-11-16
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Only events before
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// The maximum number of events, counted from the newest
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: u32,
    /// Wait for new events, until Ctrl-C
    #[arg(short, long, conflicts_with = "until")]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) look: ViewerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// The id of a turn or a unique prefix of it, `last`, or the id of a message or a proxied request
    pub(crate) turn: String,
    #[command(flatten)]
    pub(crate) look: ViewerArgs,
}

/// How costs are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum By {
    /// In this machine's time zone
    #[default]
    Day,
    /// The conversation
    Session,
    /// The user
    User,
    /// The model
    Model,
    /// The agent
    Agent,
}

impl By {
    pub(crate) fn grouping(self) -> CostGrouping {
        match self {
            Self::Day => CostGrouping::ByDay,
            Self::Session => CostGrouping::By(CostBy::Session),
            Self::User => CostGrouping::By(CostBy::User),
            Self::Model => CostGrouping::By(CostBy::Model),
            Self::Agent => CostGrouping::By(CostBy::Agent),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct CacheArgs {
    /// Only requests since: 12h, 7d, today, 2026-11-16 [default: the last 30 days]
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    #[command(flatten)]
    pub(crate) look: ViewerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CostArgs {
    /// Group costs by
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = By::Day)]
    pub(crate) by: By,
    /// Only costs since: 12h, 7d, today, 2026-11-16 [default: the last 30 days]
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Only costs before
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    #[command(flatten)]
    pub(crate) look: ViewerArgs,
}
