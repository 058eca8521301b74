//! Why a server could not be started, or could not give out a token.

use std::net::SocketAddr;
use std::path::PathBuf;

use foreword_core::id::BadId;
use foreword_store::error::StoreError;

/// Why a server could not be started, or could not give out a token.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Nobody can listen there.
    #[error("can't listen on {address}: {reason}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        reason: std::io::Error,
    },
    /// The certificate or its key can't be used.
    #[error("can't use `{}` for TLS: {reason}", path.display())]
    Certificate {
        /// Which file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Whoever is at standard input speaks another protocol.
    #[error("what is at standard input does not speak the Model Context Protocol: {reason}")]
    Protocol {
        /// How that shows.
        reason: String,
    },
    /// What must last can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no name for something new.
    #[error(transparent)]
    Id(#[from] BadId),
}

impl ServerError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Listen { .. } => {
                "stop what listens there, or choose another port with `--listen 127.0.0.1:7778`"
            }
            Self::Protocol { .. } => {
                "name this command to a client of the protocol: see `foreword mcp --help`"
            }
            Self::Id(_) => "report this",
            Self::Certificate { .. } => {
                "see `server.tls` of foreword.yaml: `certificate` and `key` are files in PEM that belong together"
            }
            Self::Store(_) => "look with `foreword store check`",
        }
    }
}
