//! Runs the turns of an agent. What a turn does is decided by `foreword_core::turn`; here it is done: models are called,
//! tools are run, steps are recorded, answers are delivered. Knows nothing of HTTP routes or SQL.

pub mod memory;
pub mod tool;
pub mod tools;
