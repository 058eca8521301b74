//! The bracket template dialect: `[type:name]` inserts a variable, `[if type:name]…[else]…[endif]` chooses by
//! whether one exists.
//!
//! Parsing never fails: anything that is not a tag is text, and a probable mistake is text with a
//! [`Diagnostic`](crate::diagnostic::Diagnostic). This module reads no file, clock or repository: a template lists its
//! [references](Template::references), the caller provides the [`Values`], and values are inserted verbatim and never
//! expanded again.
//!
//! ```
//! use foreword_prompt::bracket::{Mode, Template, Values};
//!
//! let template = Template::parse("Hello[if git:branch] from [git:branch][endif]! [[sic]", Mode::Bracket);
//! assert_eq!(template.render(&Values::new()), "Hello! [sic]");
//! let values = Values::new().with("git", "branch", "main");
//! assert_eq!(template.render(&values), "Hello from main! [sic]");
//! ```
//!
//! # Grammar
//! A tag is `[`, a body without brackets, `]`. White space around the body, after `if`, after `!` and after the colon
//! means nothing; words are lower case. A type is one word without a colon; a name is anything that is not blank, so
//! a name can hold spaces, colons and slashes, and can't hold a bracket. White space around tags is kept.
//!
//! An `[endif]` closes the nearest open `[if]`. Tags that belong to nothing are text: an `[if]` that is never closed
//! and its `[else]`, an `[else]` or `[endif]` outside, a second `[else]`.
//!
//! # The two modes
//! | | [`Mode::Bracket`] | [`Mode::Compat`] |
//! |---|---|---|
//! | `[system:date]` without a value | blank | blank |
//! | `[NOTE: careful]`, `[sytem:date]` (unknown type) | text, reported if it looks like a tag | blank, reported |
//! | `[if sytem:date]a[else]b[endif]` | its tags are text, what is between them is rendered | `b`, reported |
//! | `[[` | one literal `[` | two literal `[` |
//! | a tag over several lines | text | a tag |

mod catalog;
mod lexer;
mod problem;
mod structure;
mod suggestion;
mod template;
#[cfg(test)]
mod tests;
mod variable;

pub use catalog::{CatalogEntry, catalog};
pub use template::{DEFAULT_TEMPLATE, Mode, Template};
pub use variable::{Values, Variable};
