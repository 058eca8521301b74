//! Anthropic's Messages API: `POST {base_url}/v1/messages`, with `x-api-key` and `anthropic-version`.

mod request;
mod response;

#[cfg(test)]
mod tests;

pub(super) use request::CacheControl;
pub use request::encode;
pub(super) use response::Answer;

/// The `anthropic-version` header.
pub const VERSION: &str = "2023-06-01";
