//! What can go wrong while things are made visible.

use std::path::PathBuf;

/// Why something can't be observed as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObserveError {
    /// A pattern for secrets is none.
    #[error("`{pattern}` is no pattern for secrets: {reason}")]
    Pattern {
        /// What was given.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A header for the collector is none. Which one is said by its number: it may be a secret.
    #[error("header number {number} is none; write `name=value`, with commas between them")]
    Header {
        /// Which one, from 1.
        number: usize,
    },
    /// There is no way to the collector.
    #[error("can't export to the collector: {reason}")]
    Collector {
        /// Why not.
        reason: String,
    },
    /// The folder of the log can't be made.
    #[error("can't make the folder `{}` for the log: {reason}", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the operating system says.
        reason: String,
    },
    /// The log can't be written to.
    #[error("can't write the log `{}`: {reason}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        reason: String,
    },
    /// There is no thread that would write lines.
    #[error("no thread to write the log: {reason}")]
    Thread {
        /// What the operating system says.
        reason: String,
    },
}

impl ObserveError {
    /// What to do about it.
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
