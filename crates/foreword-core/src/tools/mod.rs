//! Tools as data. The built-in ones: what the model is told of each, and the least trust at which it hears of it. Running
//! them is not for this crate. The descriptions are read by a model: short, when to use it, what comes back.

mod arguments;
mod builtin;
mod inbox;
pub mod outside;
mod rules;
mod schema;

pub use arguments::{BadArguments, check_arguments};
pub use builtin::{HAND_OVER, builtin_tools};
pub use inbox::inbox_tools;
pub use rules::{ALL_TOOLS, ToolName, ToolRules};
pub use schema::{ParametersSchema, parameters_schema};
