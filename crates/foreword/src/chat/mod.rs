//! The chat at the terminal: reading lines, slash commands, and showing progress.

mod agents;
pub(crate) mod editor;
pub(crate) mod interrupts;
mod json_lines;
pub(crate) mod one_line;
mod piped;
mod recall;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod show;
mod slash;
mod speaker;
mod wait_indicator;
mod watch;
mod wrap;

pub(crate) use piped::messages;
