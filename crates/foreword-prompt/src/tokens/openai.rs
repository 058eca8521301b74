//! Exact counters for OpenAI's encodings. A vocabulary has several megabytes and takes about a tenth of a second to
//! load, so each is loaded once, on first use.

use std::sync::LazyLock;

use tiktoken::CoreBpe;

use super::{TokenCounter, Tokenizer};

pub(super) static O200K_BASE: OpenAiEncoding = OpenAiEncoding {
    counter: Tokenizer::O200kBase,
    vocabulary: LazyLock::new(tiktoken::encoding::o200k_base),
};

pub(super) static CL100K_BASE: OpenAiEncoding = OpenAiEncoding {
    counter: Tokenizer::Cl100kBase,
    vocabulary: LazyLock::new(tiktoken::encoding::cl100k_base),
};

pub(super) struct OpenAiEncoding {
    counter: Tokenizer,
    vocabulary: LazyLock<CoreBpe>,
}

impl TokenCounter for OpenAiEncoding {
    fn name(&self) -> &str {
        self.counter.as_str()
    }

    /// One unit is one token. The encodings split text into pieces before they merge bytes, and a piece that contains a
    /// line feed ends with the line feeds, so none spans the start of a list item.
    fn units(&self, text: &str) -> u64 {
        if text.is_empty() {
            // Not worth loading a vocabulary.
            return 0;
        }
        self.vocabulary.count(text) as u64
    }

    fn tokens_of(&self, units: u64) -> usize {
        usize::try_from(units).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn text_never_has_more_tokens_than_bytes(text in any::<String>()) {
            for encoding in [&O200K_BASE, &CL100K_BASE] {
                let tokens = encoding.count(&text);
                prop_assert!(tokens <= text.len() && (tokens >= 1) != text.is_empty());
            }
        }
    }
}
