//! Text from outside: names such as paths, branches and senders, and previews of bodies.

mod bounded_line;
mod characters;
mod chat_tokens;
mod fold;
mod outside_name;
mod preview;

pub use outside_name::{OutsideName, single_line};
pub use preview::{Preview, preview};
