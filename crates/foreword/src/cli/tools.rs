//! The words for tools: which there are, who may use them, and how the servers are that some come from.

use clap::{Args, Subcommand};

const AFTER_HELP: &str = "\
Examples:
  foreword tools                      every tool, with its trust and where it is from
  foreword tools servers              start the configured servers and show how they are
  foreword tools show time__now       what the model reads of a tool

Servers of tools are configured in `tools.mcp`; they are started for the answer and ended with it.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ToolsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ToolsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List all tools with their trust, source and sensitivity
    List,
    /// Start the configured servers and show their state, version, tools and last words
    #[command(after_help = "Examples:\n  foreword tools servers\n  foreword --json tools servers")]
    Servers,
    /// Show a tool's description and schema as the model sees them
    #[command(
        after_help = "Examples:\n  foreword tools show bash\n  foreword tools show time__get_current_time"
    )]
    Show {
        /// The tool's name, as `foreword tools` lists it
        name: String,
    },
}
