//! An MCP server with memory, prompts and introspection for other agents: over HTTP at `/mcp`, with a token, and over
//! standard input and output, for the user who starts the program.

mod handler;
pub(crate) mod http;
mod stdio;

pub use stdio::serve_stdio;
