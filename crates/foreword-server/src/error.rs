//! Errors of starting a server and of issuing a token.

use std::net::SocketAddr;
use std::path::PathBuf;

use foreword_core::id::BadId;
use foreword_store::error::StoreError;

/// Why a server could not start or a token could not be issued.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address can't be bound.
    #[error("can't listen on {address}: {reason}")]
    Listen {
        address: SocketAddr,
        /// The error of the operating system.
        reason: std::io::Error,
    },
    /// The certificate or its key can't be used.
    #[error("can't use `{}` for TLS: {reason}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// The problem with it.
        reason: String,
    },
    /// The client at standard input does not speak the Model Context Protocol.
    #[error("the client at standard input does not speak the Model Context Protocol: {reason}")]
    Protocol {
        /// The error of the handshake.
        reason: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No id could be generated.
    #[error(transparent)]
    Id(#[from] BadId),
}

impl ServerError {
    /// A hint on how to fix it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Listen { .. } => {
                "stop the program that listens there, or choose another port with `--listen 127.0.0.1:7778`"
            }
            Self::Protocol { .. } => "configure this command in an MCP client: see `foreword mcp --help`",
            Self::Id(_) => "report this",
            Self::Certificate { .. } => {
                "see `server.tls` in foreword.yaml: `certificate` and `key` must be matching PEM files"
            }
            Self::Store(_) => "check it with `foreword store check`",
        }
    }
}
