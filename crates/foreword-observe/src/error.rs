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
}
