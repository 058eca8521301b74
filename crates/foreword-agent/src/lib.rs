//! Runs the turns of an agent. What a turn does is decided by `foreword_core::turn`; here it is done: models are called,
//! tools are run, steps are recorded, answers are delivered. Knows nothing of HTTP routes or SQL.

pub mod agent;
mod building;
mod calibrations;
mod calling;
pub mod compaction;
mod conversation;
mod drafts;
mod driver;
pub mod error;
pub mod feed;
pub mod hand_over;
pub mod inbound;
pub mod inbox;
mod journal;
pub mod mcp;
pub mod memory;
pub mod models;
mod occasion_words;
mod prepare;
mod read_ahead;
mod readiness;
mod recovery;
mod saved;
pub mod schedules;
pub mod shared;
pub mod status;
pub mod surroundings;
pub mod tool;
mod tool_sets;
mod toolbox;
pub mod tools;
mod turn_log;
pub mod viewer;
pub mod watching;
mod whose;
pub mod workflows;
