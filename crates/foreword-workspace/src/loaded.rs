//! The result of loading many files. An invalid file is reported and does not affect the others.

use crate::error::WorkspaceError;

/// The loaded items, and the problems with the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded<T> {
    /// The valid items, in a stable order.
    pub items: Vec<T>,
    /// The problems with the others.
    pub problems: Vec<WorkspaceError>,
}

impl<T> Default for Loaded<T> {
    fn default() -> Self {
        Self { items: Vec::new(), problems: Vec::new() }
    }
}

impl<T> Loaded<T> {
    /// Adds an item, or a problem.
    pub(crate) fn push(&mut self, item: Result<T, WorkspaceError>) {
        match item {
            Ok(item) => self.items.push(item),
            Err(problem) => self.problems.push(problem),
        }
    }
}
