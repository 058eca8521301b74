//! Arguments of `foreword conversations`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum ConversationsCommand {
    /// List conversations, the last active first, with their token counts and compactions
    #[command(
        after_help = "Examples:\n  foreword conversations list\n  foreword conversations list --user bob --limit 5"
    )]
    List {
        /// Only this user
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        /// The maximum number to list
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Print a conversation as the model reads it now: the last summary and the messages after it
    #[command(
        after_help = "Examples:\n  foreword conversations show chat-20261116-080000-1f2e\n  foreword conversations show chat-20261116-080000-1f2e --all   also messages replaced by a summary\n\nCompaction deletes no messages: --all marks those replaced by a summary with |."
    )]
    Show(ShowArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The conversation's id
    pub(crate) id: String,
    /// All messages, including those replaced by a summary
    #[arg(long)]
    pub(crate) all: bool,
}
