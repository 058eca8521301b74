//! Assembles system prompts from layers.

pub mod bracket;
pub mod diagnostic;
pub mod jinja;
pub mod tokens;
pub mod tool;
pub mod trust;
pub mod untrusted;
