//! The result of loading many files, of which some may be bad: a bad one is told of and never stops the rest.

use crate::error::WorkspaceError;

/// What could be loaded, and what is wrong with the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded<T> {
    /// The good ones, in a stable order.
    pub items: Vec<T>,
    /// What is wrong with the others.
    pub problems: Vec<WorkspaceError>,
}

impl<T> Default for Loaded<T> {
    fn default() -> Self {
        Self { items: Vec::new(), problems: Vec::new() }
    }
}

impl<T> Loaded<T> {
    /// Takes in an item, or the reason why there is none.
    pub(crate) fn push(&mut self, item: Result<T, WorkspaceError>) {
        match item {
            Ok(item) => self.items.push(item),
            Err(problem) => self.problems.push(problem),
        }
    }
}
