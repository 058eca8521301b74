//! Arguments of `foreword token`.

use clap::{Args, Subcommand};
use foreword_core::api_token::{ProxyMode, Scope};

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token and print it once
    #[command(
        after_help = "Examples:\n  foreword token create --name laptop\n  foreword token create --user bob --expires 30d\n  foreword token create --name claude-code --mode prepend --usd-per-day 5\n  TOKEN=$(foreword token create --name ci --scope observe --expires 12h)\n\nStandard output contains only the token. Only its hash is stored: if you lose a token, revoke it and create another.\nA token has the trust of its user. Its scopes:\n  chat     talk to the agent, use memory and the drop-in endpoints\n  observe  read events, traces, costs and metrics\n  admin    change stored data, if the user is the owner\n  assert   set the user and channel of a message: for bridges"
    )]
    Create(CreateArgs),
    /// List tokens, the oldest first, with user, scopes and last use
    List,
    /// Revoke a token at once
    #[command(after_help = "Examples:\n  foreword token revoke laptop\n  foreword token revoke tok-00064…")]
    Revoke {
        /// The token's id or name, as listed by `foreword token list`
        token: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// The token's name, such as the program that uses it [default: after the user]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The user whose trust the token has [default: the owner]
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
    /// The scopes: chat, observe, admin, assert [default: chat,observe]
    #[arg(long, value_name = "SCOPE,…", value_delimiter = ',', value_parser = scope)]
    pub(crate) scope: Vec<Scope>,
    /// The drop-in endpoints' mode for its requests: observe, prepend, replace [default: `proxy.mode`]
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub(crate) mode: Option<ProxyMode>,
    /// When it expires: 12h, 30d, 2027-01-01 [default: never]
    #[arg(long, value_name = "WHEN")]
    pub(crate) expires: Option<String>,
    /// The maximum number of requests per minute [default: `server.limits`]
    #[arg(long, value_name = "N")]
    pub(crate) requests_per_minute: Option<u64>,
    /// The maximum number of concurrent turns [default: `server.limits`]
    #[arg(long, value_name = "N")]
    pub(crate) concurrent_turns: Option<u64>,
    /// The maximum cost per day in US dollars [default: `server.limits`]
    #[arg(long, value_name = "USD")]
    pub(crate) usd_per_day: Option<f64>,
    /// The maximum size of a request body in MiB, if below the server's [default: `server.limits`]
    #[arg(long, value_name = "MIB")]
    pub(crate) body_mb: Option<u64>,
}

fn scope(word: &str) -> Result<Scope, String> {
    word.trim().parse().map_err(|error| format!("{error}: use chat, observe, admin or assert"))
}

fn mode(word: &str) -> Result<ProxyMode, String> {
    word.parse().map_err(|error| format!("{error}: use observe, prepend or replace"))
}
