//! A conversation at the terminal: reading lines, slash commands, and showing what happens.

pub(crate) mod editor;
pub(crate) mod session;
mod show;
mod slash;
