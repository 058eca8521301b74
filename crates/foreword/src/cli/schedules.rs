//! Arguments of `foreword schedules`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct SchedulesArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SchedulesCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SchedulesCommand {
    /// List schedules with their next time and last outcome
    List,
    /// Show a schedule with its next five times
    #[command(after_help = "Example:\n  foreword schedules show morning")]
    Show {
        /// The schedule's name in foreword.yaml
        name: String,
    },
    /// Fire a schedule now; its next time does not change
    #[command(
        after_help = "Example:\n  foreword schedules run morning\n\nThe answer goes to standard output. Exit code 1 if the firing failed."
    )]
    Run {
        /// The schedule's name in foreword.yaml
        name: String,
    },
    /// Show past firings and their outcomes, the newest first
    #[command(after_help = "Example:\n  foreword schedules history morning --limit 5")]
    History {
        /// The schedule's name; it may have been removed from foreword.yaml
        name: String,
        /// The maximum number of firings
        #[arg(long, default_value_t = 20, value_name = "N")]
        limit: u32,
    },
}
