//! Puts our words into a request of the client's. Only its system part changes: every other byte stays as it was, and so do
//! the client's own blocks where they stay.

mod anthropic;
mod marks;
mod openai;

use foreword_agent::lending::LentPrompt;
use foreword_core::api_token::ProxyMode;
use foreword_core::price::CacheTtl;
use foreword_core::provider::WireDialect;
use foreword_prompt::prompt::CacheClass;

use super::body::RequestBody;

/// Our words, as JSON strings.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Words {
    /// What they are in for Anthropic: a block each. For OpenAI all of them are one.
    blocks: Vec<Block>,
    takes_marks: bool,
    min_cacheable: usize,
    ttl: CacheTtl,
}

#[derive(Debug, Clone, PartialEq)]
struct Block {
    /// The text as a JSON string, quotes included.
    json: Box<str>,
    class: CacheClass,
    tokens: usize,
}

impl Words {
    /// The words of a prompt, in the form that a dialect takes them.
    pub(crate) fn of(prompt: &LentPrompt, dialect: WireDialect) -> Self {
        let blocks = match dialect {
            WireDialect::Anthropic => {
                let blocks = prompt.blocks.iter().filter(|block| !block.text.trim().is_empty());
                blocks.map(|block| Block::of(&block.text, block.class, block.tokens)).collect()
            }
            WireDialect::OpenAi => {
                let text: String = prompt.blocks.iter().map(|block| &*block.text).collect();
                let tokens = prompt.blocks.iter().map(|block| block.tokens).sum();
                let words =
                    (!text.trim().is_empty()).then(|| Block::of(&text, CacheClass::Conversation, tokens));
                words.into_iter().collect()
            }
        };
        let LentPrompt { takes_marks, min_cacheable, ttl, .. } = *prompt;
        Self { blocks, takes_marks, min_cacheable, ttl }
    }

    /// How many bytes it takes to keep them.
    pub(crate) fn weight(&self) -> usize {
        self.blocks.iter().map(|block| block.json.len() + size_of::<Block>()).sum()
    }
}

impl Block {
    fn of(text: &str, class: CacheClass, tokens: usize) -> Self {
        // A text has a JSON form.
        let json = serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned());
        Self { json: json.into(), class, tokens }
    }
}

/// What is done with the client's own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Theirs {
    /// They follow ours.
    Follow,
    /// They go.
    Go,
}

impl Theirs {
    /// What `mode` does with them; nothing at all is done in `observe`.
    pub(crate) fn of(mode: ProxyMode) -> Option<Self> {
        match mode {
            ProxyMode::Observe => None,
            ProxyMode::Prepend => Some(Self::Follow),
            ProxyMode::Replace => Some(Self::Go),
        }
    }
}

/// Why nothing can be put into a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoPlace {
    /// It has no messages.
    #[error("`messages` is missing, no list, or empty")]
    NoMessages,
    /// Its system prompt is neither text nor blocks.
    #[error("`system` is neither a text nor a list of blocks")]
    OddSystem,
    /// It says something twice.
    #[error("it says `{0}` twice")]
    Twice(&'static str),
}

/// The request with our words in it.
pub(crate) fn splice(
    body: &RequestBody<'_>,
    dialect: WireDialect,
    words: &Words,
    theirs: Theirs,
) -> Result<Vec<u8>, NoPlace> {
    if let Some(twice) = body.repeated() {
        return Err(NoPlace::Twice(twice));
    }
    match dialect {
        WireDialect::Anthropic => anthropic::splice(body, words, theirs),
        WireDialect::OpenAi => openai::splice(body, words, theirs),
    }
}

#[cfg(test)]
mod tests;
