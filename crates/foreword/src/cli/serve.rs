//! The words of `foreword serve`.

use std::net::SocketAddr;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where to listen [default: `server.listen` of foreword.yaml, else 127.0.0.1:7777]; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
}
