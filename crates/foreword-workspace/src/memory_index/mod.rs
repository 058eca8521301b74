//! Full-text search over memory. [`Index`] is a pure value; [`FileIndexes`] maintains one per store of memory files.
//! Each store has an index of its own, so that trust is applied before the search: for a reader without access to a
//! store, matches, counts and ranking are the same as if the store did not exist.

mod chunk;
mod files;
mod index;
mod passage;
mod query;
mod reader;
mod search;
mod snippet;
mod terms;
#[cfg(test)]
mod tests;

pub use files::{FileIndexes, SharedIndex, search_indexes};
pub use index::{Document, Index};
pub use passage::{LineRangeError, Lines, Passage};
pub use query::Query;
pub use reader::{Reader, read_file};
pub use search::{Hit, SearchLimits, SearchResults, search};
