//! The words for the agents of a workspace.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<AgentsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the agents: name, blueprint, model, what each is for, and its folder
    List,
    /// Show one agent: its settings, the tools it has, and the files of its own
    #[command(after_help = "Example:\n  foreword agents show clerk")]
    Show {
        /// The agent
        name: String,
    },
    /// Give a conversation to another agent, who answers from the next message on
    #[command(
        after_help = "Examples:\n  foreword agents hand-over chat-20261116-080000-1f2e clerk\n  foreword agents hand-over signal:group-7 researcher --reason 'they ask for figures'"
    )]
    HandOver(HandOverArgs),
}

#[derive(Debug, Args)]
pub(crate) struct HandOverArgs {
    /// The conversation, by its id
    pub(crate) conversation: String,
    /// The agent that is to have it
    pub(crate) name: String,
    /// Why, for the agent that gets it
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}
