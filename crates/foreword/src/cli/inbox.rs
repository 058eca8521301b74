//! The words for what others leave for the agent, and what it leaves for them.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum InboxCommand {
    /// Leave a message for the agent, as one of its senders
    #[command(
        after_help = "Examples:\n  foreword inbox stage --from 0xA11CE \"What does a report cost?\"\n  foreword inbox stage --from signal:+15550100 --id sig-1017 - < message.txt\n\nThe same id again is the same message, so a bridge may deliver twice. `foreword tick` answers."
    )]
    Stage(StageArgs),
    /// List the messages that wait, the oldest first
    #[command(
        after_help = "Examples:\n  foreword inbox list\n  foreword inbox list --set-aside    those over which turns keep failing\n  foreword inbox list --all          the newest, whatever became of them"
    )]
    List {
        /// Those that were dealt with too, the newest first
        #[arg(long, conflicts_with = "set_aside")]
        all: bool,
        /// Only those over which turns keep failing
        #[arg(long)]
        set_aside: bool,
        /// The most to list
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: u64,
    },
    /// Show a message and what became of it
    Show {
        /// The message
        id: String,
    },
    /// Put a message that was set aside back among those that wait; one that waits for another attempt is tried next
    #[command(
        after_help = "Examples:\n  foreword inbox retry q-1\n  foreword inbox retry --all    everything that is set aside"
    )]
    Retry {
        /// The message
        #[arg(required_unless_present = "all")]
        id: Option<String>,
        /// All that are set aside
        #[arg(long, conflicts_with = "id")]
        all: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct StageArgs {
    /// Who it is from, such as 0xA11CE or signal:+15550100
    #[arg(long, value_name = "SENDER")]
    pub(crate) from: String,
    /// Its id, if whoever brings it has one [default: a new one]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// What it says, or - for standard input
    #[arg(required = true)]
    pub(crate) text: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OutboxCommand {
    /// List the answers that were not delivered yet, the oldest first
    #[command(
        after_help = "Examples:\n  foreword outbox list\n  foreword --json outbox list    for a bridge that delivers them"
    )]
    List {
        /// The delivered ones too, the newest first
        #[arg(long)]
        all: bool,
        /// The most to list
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: u64,
    },
    /// Print an answer, without what would steer a terminal; `--json` has it to the byte
    Show {
        /// The answer
        id: String,
    },
    /// Note that an answer has reached its recipient
    Delivered {
        /// The answer
        id: String,
    },
}
