//! Runs the turns of an agent. What a turn does is decided by `foreword_core::turn`; here it is done: models are called,
//! tools are run, steps are recorded, answers are delivered. Knows nothing of HTTP routes or SQL.

#![allow(missing_docs, reason = "an internal crate: names say what most public items are")]

pub mod agent;
pub mod background;
pub mod clock_and_rng;
pub mod conversation;
pub mod error;
pub mod external_client;
pub mod mcp;
pub mod memory;
pub mod models;
pub mod prompt;
pub mod reports;
pub mod shared;
pub mod spending;
pub mod tool;
pub mod tools;
pub mod turn;
