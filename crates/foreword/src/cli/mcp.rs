//! Arguments of `foreword mcp`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// The user whose permissions the client has [default: the user at this terminal, usually the owner]
    #[arg(long, visible_alias = "as", value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// The agent [default: the first one]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
}
