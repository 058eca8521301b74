//! The words for what runs by the clock.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct SchedulesArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SchedulesCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SchedulesCommand {
    /// List them: when each fires next, and what became of the last time
    List,
    /// Show one, with the next five times
    #[command(after_help = "Example:\n  foreword schedules show morning")]
    Show {
        /// Its name in foreword.yaml
        name: String,
    },
    /// Fire one now, whenever it is due; the next time stays as it is
    #[command(
        after_help = "Example:\n  foreword schedules run morning\n\nThe answer goes to standard output. Exit code 1 means that it failed."
    )]
    Run {
        /// Its name in foreword.yaml
        name: String,
    },
    /// Show what became of past firings, the newest first
    #[command(after_help = "Example:\n  foreword schedules history morning --limit 5")]
    History {
        /// Its name; it need not be configured any more
        name: String,
        /// The most firings to show
        #[arg(long, default_value_t = 20, value_name = "N")]
        limit: u32,
    },
}
