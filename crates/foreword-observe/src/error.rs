//! The errors of this crate.

use std::path::PathBuf;

/// Why logging, metrics or tracing could not be set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObserveError {
    /// An invalid redaction pattern.
    #[error("`{pattern}` is not a valid pattern: {reason}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The error of the regex parser.
        reason: String,
    },
    /// An invalid collector header. Identified by number, since its text may be a secret.
    #[error("header number {number} is invalid; write `name=value`, separated by commas")]
    Header {
        /// The position, counted from 1.
        number: usize,
    },
    /// The client of the collector could not be built.
    #[error("can't export to the collector: {reason}")]
    Collector {
        /// The cause.
        reason: String,
    },
    /// The log folder could not be created.
    #[error("can't create the log folder `{}`: {reason}", .path.display())]
    Folder {
        /// Its path.
        path: PathBuf,
        /// The error of the operating system.
        reason: String,
    },
    /// The log file could not be opened for writing.
    #[error("can't write the log `{}`: {reason}", .path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The error of the operating system.
        reason: String,
    },
    /// The writer thread could not be started.
    #[error("can't start the log writer thread: {reason}")]
    Thread {
        /// The error of the operating system.
        reason: String,
    },
}

impl ObserveError {
    /// How to solve it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Pattern { .. } => "correct it in `logging.redact.patterns`",
            Self::Folder { .. } | Self::File { .. } => {
                "check its permissions, name another file in `logging.file`, or switch it off with `file: none`"
            }
            Self::Header { .. } => "correct the variable that `logging.otlp.headers_env` names",
            Self::Collector { .. } => "check `logging.otlp`",
            Self::Thread { .. } => "check the operating system's limits",
        }
    }
}
