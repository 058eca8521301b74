//! The words for tokens of the HTTP interface.

use clap::{Args, Subcommand};
use foreword_core::api_token::{ProxyMode, Scope};

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it, this once
    #[command(
        after_help = "Examples:\n  foreword token create --name laptop\n  foreword token create --user bob --expires 30d\n  foreword token create --name claude-code --mode prepend --usd-per-day 5\n  TOKEN=$(foreword token create --name ci --scope observe --expires 12h)\n\nStandard output has the token and nothing else. Only its hash is kept: a token that is lost is revoked, and another\none made. A token has the trust of its user, whatever it opens:\n  chat     talk to the agent, use memory and the drop-in endpoints\n  observe  see events, traces, costs and metrics\n  admin    change what is stored, if the user is the owner\n  assert   say who and where somebody is: for bridges"
    )]
    Create(CreateArgs),
    /// List tokens, the oldest first: whose they are, what they open, when they were last used
    List,
    /// Make a token useless, at once
    #[command(after_help = "Examples:\n  foreword token revoke laptop\n  foreword token revoke tok-00064…")]
    Revoke {
        /// The token, by the id or the name that `foreword token list` shows
        token: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// What to call it, such as the program that will use it [default: after the user]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Whom it speaks for, whose trust it has [default: the owner]
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
    /// What it opens: chat, observe, admin, assert [default: chat,observe]
    #[arg(long, value_name = "SCOPE,…", value_delimiter = ',', value_parser = scope)]
    pub(crate) scope: Vec<Scope>,
    /// What the drop-in endpoints do with its requests: observe, prepend, replace [default: `proxy.mode`]
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub(crate) mode: Option<ProxyMode>,
    /// How long it lives: 12h, 30d, 2027-01-01 [default: until it is revoked]
    #[arg(long, value_name = "WHEN")]
    pub(crate) expires: Option<String>,
    /// The most requests in a minute [default: `server.limits`]
    #[arg(long, value_name = "N")]
    pub(crate) requests_per_minute: Option<u64>,
    /// The most turns at a time [default: `server.limits`]
    #[arg(long, value_name = "N")]
    pub(crate) concurrent_turns: Option<u64>,
    /// The most it may spend in a day, in US dollars [default: `server.limits`]
    #[arg(long, value_name = "USD")]
    pub(crate) usd_per_day: Option<f64>,
    /// The largest body of a request, in MiB, if less than for all [default: `server.limits`]
    #[arg(long, value_name = "MIB")]
    pub(crate) body_mb: Option<u64>,
}

fn scope(word: &str) -> Result<Scope, String> {
    word.trim().parse().map_err(|error| format!("{error}: use chat, observe, admin or assert"))
}

fn mode(word: &str) -> Result<ProxyMode, String> {
    word.parse().map_err(|error| format!("{error}: use observe, prepend or replace"))
}
