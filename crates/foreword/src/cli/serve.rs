//! Arguments of `foreword serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

pub(crate) const AFTER_HELP: &str = "\
Examples:
  foreword serve
  foreword serve --listen 127.0.0.1:8080
  foreword serve --demo                    sample data, and a model that needs no key

The web page is at the address the server listens on. At a terminal, or with --demo, the server prints a one-time login
link; you can also log in with a token.

Programs use a token (the first start creates one and shows it once; `foreword token create` creates more):
  curl -H \"Authorization: Bearer $FOREWORD_TOKEN\" http://127.0.0.1:7777/api/v1/status
  base_url=\"http://127.0.0.1:7777/anthropic\"    in a program that uses an Anthropic SDK
  base_url=\"http://127.0.0.1:7777/openai/v1\"    in a program that uses an OpenAI SDK

Only this machine can reach a loopback address. For other machines use a reverse proxy with TLS, or set `server.tls`
in foreword.yaml. Schedules run as with `foreword run`. Ctrl-C or SIGTERM shuts the server down gracefully: running
turns have `server.drain_seconds` to finish; the next process resumes the others.";

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The address to listen on [default: `server.listen` of foreword.yaml, else 127.0.0.1:7777]; port 0 is any free port
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// Serve a temporary workspace with sample data, the offline model and a new token; with -w it is kept in that folder
    #[arg(long)]
    pub(crate) demo: bool,
    /// Serve the web page from this folder instead of the built-in one, for development
    #[arg(long, value_name = "DIR", env = "FOREWORD_PAGE_DIR")]
    pub(crate) page: Option<PathBuf>,
}
