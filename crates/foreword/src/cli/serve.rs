//! The words of `foreword serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

/// What stands below the flags.
pub(crate) const AFTER_HELP: &str = "\
Examples:
  foreword serve
  foreword serve --listen 127.0.0.1:8080
  foreword serve --demo                    a workspace to try, and a model that needs no key

The web page is at the address it listens on. Started on a terminal, or with --demo, it shows a link that opens the page
once; a token opens it too.

Programs use it with a token (the first start makes one and shows it once; `foreword token create` makes more):
  curl -H \"Authorization: Bearer $FOREWORD_TOKEN\" http://127.0.0.1:7777/api/v1/status
  base_url=\"http://127.0.0.1:7777/anthropic\"    in a program that uses an Anthropic SDK
  base_url=\"http://127.0.0.1:7777/openai/v1\"    in a program that uses an OpenAI SDK

Only this machine can reach a loopback address. For others put a reverse proxy with TLS in front, or set `server.tls`
in foreword.yaml. What runs by the clock runs as under `foreword run`. Ctrl-C or SIGTERM stops it: what is under way is
finished within `server.drain_seconds`, or gone on with by whoever runs next.";

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where to listen [default: `server.listen` of foreword.yaml, else 127.0.0.1:7777]; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// Make a household to look around in, with the offline model, a little history and a fresh token; without -w it is gone
    /// afterwards
    #[arg(long)]
    pub(crate) demo: bool,
    /// Serve the web page from this folder instead of the one built in; for whoever works on it
    #[arg(long, value_name = "DIR", env = "FOREWORD_PAGE_DIR")]
    pub(crate) page: Option<PathBuf>,
}
