//! The words of `foreword mcp`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// For whom: what they may not see is not there [default: whoever sits at the terminal, the owner as a rule]
    #[arg(long, visible_alias = "as", value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Of which agent of the workspace [default: the first one]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
}
