//! Injects the prompt into a client's request. Modes `prepend` (client's system prompt follows) and `replace` (it is
//! removed, except Claude Code's billing block). Only the system part changes; all other bytes, and kept blocks of the
//! client, stay the same.

mod anthropic;
mod marks;
mod openai;

use foreword_agent::prompt::proxy_prompt::ProxyPrompt;
use foreword_core::api_token::ProxyMode;
use foreword_core::price::CacheTtl;
use foreword_core::provider::WireDialect;
use foreword_prompt::prompt::CacheClass;

use super::body::RequestBody;

/// The prompt as JSON strings.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PromptBlocks {
    /// One block each for Anthropic, a single one for OpenAI.
    blocks: Vec<Block>,
    takes_marks: bool,
    min_cacheable: usize,
    ttl: CacheTtl,
}

#[derive(Debug, Clone, PartialEq)]
struct Block {
    /// The JSON string, quotes included.
    json: Box<str>,
    class: CacheClass,
    tokens: usize,
}

impl PromptBlocks {
    /// The blocks of a prompt in the format of a dialect.
    pub(crate) fn of(prompt: &ProxyPrompt, dialect: WireDialect) -> Self {
        let blocks = match dialect {
            WireDialect::Anthropic => {
                let blocks = prompt.blocks.iter().filter(|block| !block.text.trim().is_empty());
                blocks.map(|block| Block::of(&block.text, block.class, block.tokens)).collect()
            }
            WireDialect::OpenAi => {
                let text: String = prompt.blocks.iter().map(|block| &*block.text).collect();
                let tokens = prompt.blocks.iter().map(|block| block.tokens).sum();
                let prompt =
                    (!text.trim().is_empty()).then(|| Block::of(&text, CacheClass::Conversation, tokens));
                prompt.into_iter().collect()
            }
        };
        let ProxyPrompt { takes_marks, min_cacheable, ttl, .. } = *prompt;
        Self { blocks, takes_marks, min_cacheable, ttl }
    }

    /// The size in bytes.
    pub(crate) fn size(&self) -> usize {
        self.blocks.iter().map(|block| block.json.len() + size_of::<Block>()).sum()
    }
}

impl Block {
    fn of(text: &str, class: CacheClass, tokens: usize) -> Self {
        // Serialising a string can't fail.
        let json = serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned());
        Self { json: json.into(), class, tokens }
    }
}

/// What happens to the client's own system prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientPrompt {
    /// It follows the injected one.
    Keep,
    /// It is removed.
    Remove,
}

impl ClientPrompt {
    /// The handling in this mode; `None` in `observe`.
    pub(crate) fn of(mode: ProxyMode) -> Option<Self> {
        match mode {
            ProxyMode::Observe => None,
            ProxyMode::Prepend => Some(Self::Keep),
            ProxyMode::Replace => Some(Self::Remove),
        }
    }
}

/// Why a prompt can't be injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InjectError {
    #[error("`messages` is missing, not an array, or empty")]
    NoMessages,
    #[error("`system` is neither a string nor an array of blocks")]
    InvalidSystem,
    #[error("duplicate field `{0}`")]
    Duplicate(&'static str),
}

/// Returns the request with the prompt injected.
pub(crate) fn inject(
    body: &RequestBody<'_>,
    dialect: WireDialect,
    prompt: &PromptBlocks,
    client_prompt: ClientPrompt,
) -> Result<Vec<u8>, InjectError> {
    if let Some(twice) = body.repeated() {
        return Err(InjectError::Duplicate(twice));
    }
    match dialect {
        WireDialect::Anthropic => anthropic::inject(body, prompt, client_prompt),
        WireDialect::OpenAi => openai::inject(body, prompt, client_prompt),
    }
}

#[cfg(test)]
mod tests;
