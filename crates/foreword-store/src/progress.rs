//! How far long work has come, for whoever waits for it.

/// A moment of long work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is worked on: a table, or the file.
    pub what: &'static str,
    /// How much is done, of everything.
    pub done: u64,
    /// How much there is, as far as is known; in the same measure (rows, or bytes).
    pub of: u64,
}
