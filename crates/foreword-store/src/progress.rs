//! The progress of long operations.

/// The progress of a long operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkProgress {
    /// The current table or file.
    pub what: &'static str,
    /// The amount done, in rows or bytes.
    pub done: u64,
    /// The estimated total, in the same unit.
    pub of: u64,
}
