//! OpenAI's chat completions, and the habits of those who speak it too: Ollama, llama.cpp, vLLM, LiteLLM.
//! `POST {base_url}/chat/completions`, with a bearer token.

mod request;
mod response;
mod tool_calls;

#[cfg(test)]
mod tests;

pub use request::{OutputLimit, encode};
pub(super) use response::Answer;

/// The type of the blocks that keep what a model thought before it spoke, for servers that want it back.
pub const REASONING: &str = "reasoning_content";
