//! Properties of the parsers that hold for any input. Each takes an input and panics if it is violated.
//!
//! The targets under `targets/` run them with libFuzzer; the tests run them on the corpora. The meaning of valid
//! input is tested next to each parser.

pub mod bracket;
pub mod jinja;
pub mod yaml;
