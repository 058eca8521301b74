//! Why a server could not be started.

use std::net::SocketAddr;
use std::path::PathBuf;

use foreword_store::error::StoreError;

/// Why a server could not be started.
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
    /// What must last can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ServerError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Listen { .. } => {
                "stop what listens there, or choose another port with `--listen 127.0.0.1:7778`"
            }
            Self::Certificate { .. } => {
                "see `server.tls` of foreword.yaml: `certificate` and `key` are files in PEM that belong together"
            }
            Self::Store(_) => "look with `foreword store check`",
        }
    }
}
