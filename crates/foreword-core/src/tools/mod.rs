//! Tools as data: the descriptions of the built-in tools and their minimum trust. Running them is not part of this
//! crate. Descriptions are written for a model: short, when to use the tool, what it returns.

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
