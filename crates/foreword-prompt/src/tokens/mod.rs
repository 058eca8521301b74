//! Token counting with named counters: exact ones for OpenAI's public encodings, and documented estimates for models
//! without a public tokenizer. Independent of model names: the catalogue maps models to counters. See `docs/tokens.md`
//! for the accuracy of the estimates.
//!
//! ```
//! use foreword_prompt::tokens::Tokenizer;
//!
//! let counter: Tokenizer = "estimate-v1".parse()?;
//! let tokens = counter.get().count("The ferry leaves at twenty past six.");
//! assert!((8..=14).contains(&tokens));
//! # Ok::<(), foreword_prompt::tokens::UnknownCounter>(())
//! ```

mod estimate;
mod estimate_table;
mod openai;
#[cfg(test)]
mod sample_tests;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::diagnostic::did_you_mean;

/// Counts the tokens of a text.
///
/// An empty text has 0 tokens, any other at least 1. Deterministic.
pub trait TokenCounter: Send + Sync {
    /// The name that goes into every report, such as `o200k_base`.
    fn name(&self) -> &str;

    /// The cost of `text` in units of the counter's own size. Special tokens such as `<|endoftext|>` count as plain
    /// text.
    ///
    /// Units add up at the start of a list item: if `a` ends in a line feed and `b` starts with `-`, then
    /// `units(ab) == units(a) + units(b)`. So a long list can be counted at any length from the units of its lines.
    fn units(&self, text: &str) -> u64;

    /// The number of tokens of a text that costs `units`.
    fn tokens_of(&self, units: u64) -> usize;

    /// The number of tokens of `text`.
    fn count(&self, text: &str) -> usize {
        self.tokens_of(self.units(text))
    }
}

/// The built-in counters, by name.
///
/// ```
/// use foreword_prompt::tokens::Tokenizer;
/// assert_eq!(Tokenizer::O200kBase.get().count("hello world"), 2);
/// assert!(Tokenizer::O200kBase.is_exact() && !Tokenizer::Estimate.is_exact());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Tokenizer {
    /// OpenAI's encoding since GPT-4o. Exact. Its vocabulary is loaded when it is first used.
    O200kBase,
    /// OpenAI's encoding for GPT-4 and GPT-3.5. Exact. Its vocabulary is loaded when it is first used.
    Cl100kBase,
    /// For models whose tokenizer is not public. Needs no vocabulary.
    #[default]
    Estimate,
    /// For Claude models from Opus 4.7 on, whose tokenizer cuts Latin text finer. Needs no vocabulary.
    EstimateClaude,
}

impl Tokenizer {
    /// All counters.
    pub const ALL: [Self; 4] = [Self::O200kBase, Self::Cl100kBase, Self::Estimate, Self::EstimateClaude];

    /// The counter itself. Cheap: a vocabulary is loaded by the first count, not here.
    #[must_use]
    pub fn get(self) -> &'static dyn TokenCounter {
        match self {
            Self::O200kBase => &openai::O200K_BASE,
            Self::Cl100kBase => &openai::CL100K_BASE,
            Self::Estimate => &estimate::GENERAL,
            Self::EstimateClaude => &estimate::CLAUDE,
        }
    }

    /// The name people write and reports show.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
            Self::Estimate => "estimate-v1",
            Self::EstimateClaude => "estimate-claude-v1",
        }
    }

    /// Whether it counts like the provider, or estimates.
    #[must_use]
    pub const fn is_exact(self) -> bool {
        match self {
            Self::O200kBase | Self::Cl100kBase => true,
            Self::Estimate | Self::EstimateClaude => false,
        }
    }
}

impl fmt::Display for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An unknown counter name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown token counter `{name}`: {remedy}")]
pub struct UnknownCounter {
    /// The name as written.
    pub name: String,
    remedy: String,
}

impl FromStr for Tokenizer {
    type Err = UnknownCounter;

    /// Parses a counter's name; a name without its version, such as `estimate`, means the current version.
    fn from_str(name: &str) -> Result<Self, UnknownCounter> {
        let written = |counter: &Self| {
            let full = counter.as_str();
            full == name || full.strip_suffix("-v1") == Some(name)
        };
        Self::ALL.into_iter().find(written).ok_or_else(|| UnknownCounter {
            name: name.to_owned(),
            remedy: match did_you_mean(name, Self::ALL.map(Self::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("use one of `{}`", Self::ALL.map(Self::as_str).join("`, `")),
            },
        })
    }
}

impl TryFrom<String> for Tokenizer {
    type Error = UnknownCounter;

    fn try_from(name: String) -> Result<Self, UnknownCounter> {
        name.parse()
    }
}

impl From<Tokenizer> for &'static str {
    fn from(counter: Tokenizer) -> Self {
        counter.as_str()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn units_add_up_at_a_list_item(a in any::<String>(), b in any::<String>()) {
            check_list_item(&a, &b);
        }

        #[test]
        fn units_add_up_after_punctuation_and_spaces(
            a in "[a-zA-Z0-9'./ \t\r\n—…é日🙂-]{0,16}", b in "[a-zA-Z0-9'./ \t\r\n—…é日🙂-]{0,16}"
        ) {
            check_list_item(&a, &b);
        }
    }

    fn check_list_item(a: &str, b: &str) {
        let (a, b) = (format!("{a}\n"), format!("-{b}"));
        for counter in Tokenizer::ALL.map(Tokenizer::get) {
            let whole = counter.units(&format!("{a}{b}"));
            assert_eq!(whole, counter.units(&a) + counter.units(&b), "{} on {a:?} {b:?}", counter.name());
        }
    }

    #[test]
    fn every_counter_is_found_by_its_own_name() {
        for counter in Tokenizer::ALL {
            assert_eq!(counter.as_str().parse(), Ok(counter));
            assert_eq!(counter.get().name(), counter.as_str());
            let json = serde_json::to_string(&counter).unwrap();
            assert_eq!(serde_json::from_str::<Tokenizer>(&json).unwrap(), counter);
        }
    }

    #[test]
    fn name_without_version_means_the_current_version() {
        assert_eq!("estimate".parse(), Ok(Tokenizer::Estimate));
        assert_eq!("estimate-claude".parse(), Ok(Tokenizer::EstimateClaude));
    }

    #[test]
    fn unknown_counter_error_lists_the_counters() {
        let near = "o200k-base".parse::<Tokenizer>().unwrap_err();
        assert_eq!(near.to_string(), "unknown token counter `o200k-base`: did you mean `o200k_base`?");
        let far = "sentencepiece".parse::<Tokenizer>().unwrap_err();
        assert_eq!(
            far.to_string(),
            "unknown token counter `sentencepiece`: use one of `o200k_base`, `cl100k_base`, `estimate-v1`, \
             `estimate-claude-v1`"
        );
    }

    #[test]
    fn only_empty_text_has_no_tokens() {
        for counter in Tokenizer::ALL {
            assert_eq!(counter.get().count(""), 0, "{counter}");
            for text in [" ", "\n", "a", "\u{200d}", "\0"] {
                assert!(counter.get().count(text) >= 1, "{counter} on {text:?}");
            }
        }
    }

    #[test]
    fn special_tokens_count_as_plain_text() {
        for counter in Tokenizer::ALL {
            assert!(counter.get().count("<|endoftext|>") > 1, "{counter}");
        }
    }
}
