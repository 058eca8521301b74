//! A conversation at the terminal: reading lines, slash commands, and showing what happens.

mod agents;
pub(crate) mod editor;
pub(crate) mod interrupts;
mod json_lines;
mod mark;
pub(crate) mod one_line;
mod piped;
mod recall;
pub(crate) mod session;
mod settings;
pub(crate) mod show;
mod slash;
mod speaker;
mod watch;
mod wrap;

pub(crate) use piped::messages;
