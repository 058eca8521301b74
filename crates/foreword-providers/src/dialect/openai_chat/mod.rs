//! OpenAI's Chat Completions API and the variations of compatible servers (Ollama, llama.cpp, vLLM, LiteLLM): `POST
//! {base_url}/chat/completions`, with a bearer token.

mod request;
mod response;
mod tool_calls;

#[cfg(test)]
mod tests;

pub use request::{OutputLimit, encode};
pub(super) use response::Answer;

/// The type of blocks that hold a model's reasoning, for servers that expect it back.
pub const REASONING: &str = "reasoning_content";
