//! Arguments of `foreword tools`.

use clap::{Args, Subcommand};

const AFTER_HELP: &str = "\
Examples:
  foreword tools                      all tools with their trust and source
  foreword tools servers              start the configured servers and show their state
  foreword tools show time__now       a tool as the model sees it

MCP servers are configured in `tools.mcp`; they run for the duration of this command.";

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
    /// Start the configured servers and show their state, version, tools and last output
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
