//! The words for conversations: which there are, and everything that was ever said in one.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum ConversationsCommand {
    /// List conversations, the last active first: what they weigh, and how often they were summed up
    #[command(
        after_help = "Examples:\n  foreword conversations list\n  foreword conversations list --user bob --limit 5"
    )]
    List {
        /// Only this user's
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        /// The most to list
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Print what was said in a conversation, as the model reads it now: the last summary, and what came behind it
    #[command(
        after_help = "Examples:\n  foreword conversations show chat-20261116-080000-1f2e\n  foreword conversations show chat-20261116-080000-1f2e --all   also what summaries stand for\n\nNothing that was said is ever lost: --all marks what a summary stands for with |."
    )]
    Show(ShowArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The conversation, by its id
    pub(crate) id: String,
    /// Everything that was ever said, what summaries stand for included
    #[arg(long)]
    pub(crate) all: bool,
}
