//! Arguments of `foreword agents`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<AgentsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the agents: name, blueprint, model, description and folder
    List,
    /// Show an agent: its settings, tools and files
    #[command(after_help = "Example:\n  foreword agents show clerk")]
    Show {
        /// The agent
        name: String,
    },
    /// Hand a conversation to another agent, which answers the next message
    #[command(
        after_help = "Examples:\n  foreword agents hand-over chat-20261116-080000-1f2e clerk\n  foreword agents hand-over signal:group-7 researcher --reason 'they ask for figures'"
    )]
    HandOver(HandOverArgs),
}

#[derive(Debug, Args)]
pub(crate) struct HandOverArgs {
    /// The conversation's id
    pub(crate) conversation: String,
    /// The agent that takes over
    pub(crate) name: String,
    /// The reason, for the agent that takes over
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}
