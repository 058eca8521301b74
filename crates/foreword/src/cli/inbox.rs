//! Arguments of `foreword inbox` and `foreword outbox`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum InboxCommand {
    /// Stage a message for the agent, as one of its senders
    #[command(
        after_help = "Examples:\n  foreword inbox stage --from 0xA11CE \"What does a report cost?\"\n  foreword inbox stage --from signal:+15550100 --id sig-1017 - < message.txt\n\nA message with a known id is ignored, so a bridge may deliver twice. `foreword tick` answers."
    )]
    Stage(StageArgs),
    /// List pending messages, the oldest first
    #[command(
        after_help = "Examples:\n  foreword inbox list\n  foreword inbox list --set-aside    only messages whose turns keep failing\n  foreword inbox list --all          the newest, in any state"
    )]
    List {
        /// Messages in any state, the newest first
        #[arg(long, conflicts_with = "set_aside")]
        all: bool,
        /// Only messages that were set aside because their turns keep failing
        #[arg(long)]
        set_aside: bool,
        /// The maximum number to list
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: u64,
    },
    /// Show a message and its state
    Show {
        /// The message
        id: String,
    },
    /// Make a message that was set aside pending again, or retry a pending one next
    #[command(
        after_help = "Examples:\n  foreword inbox retry q-1\n  foreword inbox retry --all    all messages that are set aside"
    )]
    Retry {
        /// The message
        #[arg(required_unless_present = "all")]
        id: Option<String>,
        /// All messages that are set aside
        #[arg(long, conflicts_with = "id")]
        all: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct StageArgs {
    /// The sender, such as 0xA11CE or signal:+15550100
    #[arg(long, value_name = "SENDER")]
    pub(crate) from: String,
    /// The message's id, for bridges [default: a new id]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// The text, or - for standard input
    #[arg(required = true)]
    pub(crate) text: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OutboxCommand {
    /// List undelivered answers, the oldest first
    #[command(
        after_help = "Examples:\n  foreword outbox list\n  foreword --json outbox list    for a bridge that delivers them"
    )]
    List {
        /// Also delivered answers, the newest first
        #[arg(long)]
        all: bool,
        /// The maximum number to list
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: u64,
    },
    /// Print an answer without terminal control sequences; `--json` has the exact bytes
    Show {
        /// The answer
        id: String,
    },
    /// Mark an answer as delivered
    Delivered {
        /// The answer
        id: String,
    },
}
