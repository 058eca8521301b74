//! Full-text search over memory. The index is a pure value that anything can be put into; [`FileIndexes`] keeps one for
//! each store of memory files. There is an index for each store, so that trust decides before the search: whoever may not see
//! a store searches without it, and finds, counts and ranks exactly as if it were not there.

mod chunk;
mod files;
mod index;
mod passage;
mod query;
mod reader;
mod search;
mod snippet;
#[cfg(test)]
mod tests;
mod words;

pub use files::{FileIndexes, Shelf, search_shelves};
pub use index::{Document, Index};
pub use passage::{Lines, NoSuchLines, Passage};
pub use query::Query;
pub use reader::{Reader, read_file};
pub use search::{Found, Hit, Wanted, search};
