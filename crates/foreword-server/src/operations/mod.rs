//! What operators ask the server: health checks, current problems, nodes.

pub(crate) mod health;
pub(crate) mod nodes;
pub(crate) mod server_problems;
