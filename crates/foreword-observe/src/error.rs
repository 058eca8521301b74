//! What can go wrong while things are made visible.

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
}
