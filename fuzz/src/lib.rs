//! What must be true of the parsers for any bytes at all. Each law takes an input and panics if it is broken.
//!
//! The targets under `targets/` hand them to libFuzzer; the tests hand them the corpora, on every machine. What a
//! correct input means is not tested here, but beside each parser.

pub mod bracket;
pub mod jinja;
pub mod yaml;
