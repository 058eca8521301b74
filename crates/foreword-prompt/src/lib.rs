//! Assembles system prompts from layers.

pub mod assemble;
pub mod blueprint;
pub mod bracket;
pub mod budget;
pub mod cache_plan;
pub mod content;
pub mod cut;
pub mod diagnostic;
pub mod dynamic;
pub mod epoch;
pub mod error;
pub mod generated;
pub mod jinja;
pub mod layer;
pub mod menu;
pub mod occasion;
pub mod plan;
pub mod prompt;
pub mod report;
pub mod text;
pub mod tokens;
pub mod tool;
pub mod trust;
pub mod turn_delta;
pub mod turn_text;
pub mod untrusted;
