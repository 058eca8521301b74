//! Masks the owner's provider keys in responses. Providers repeat a key in the error that rejects it, and gateways
//! repeat request headers.

use std::sync::Arc;

use bytes::Bytes;
use foreword_core::provider::KeySource;
use foreword_workspace::config::Config;
use memchr::memmem::Finder;

use crate::app::Secrets;

/// Shorter keys are placeholders such as `ollama` or `none`, which are ordinary words.
const MIN_KEY_LENGTH: usize = 8;
/// Keys of at least this length are masked in every response. Shorter ones are only masked in errors, so that a model's
/// output is never changed.
const MIN_UNMISTAKABLE_LENGTH: usize = 20;
/// Replaces each byte of a key. The length stays the same, since `content-length` may have been sent.
const MASK: u8 = b'*';

/// The keys of all configured providers. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct ProviderKeys(Arc<[Finder<'static>]>);

impl ProviderKeys {
    /// The keys in the configuration and in the environment variables it names.
    pub(crate) fn of(config: &Config, secrets: &dyn Secrets) -> Self {
        let mut keys: Vec<String> = Vec::new();
        for provider in config.providers.values() {
            let secret = match &provider.key {
                KeySource::None => None,
                KeySource::Written(secret) => Some(secret.clone()),
                KeySource::Environment(variable) => secrets.variable(variable),
            };
            keys.extend(secret.map(|secret| secret.reveal().trim().to_owned()));
            // A header may have a scheme such as `Bearer` before the secret.
            let words =
                provider.headers.iter().filter_map(|(_, value)| value.reveal().split_whitespace().last());
            keys.extend(words.map(str::to_owned));
        }
        Self::new(keys)
    }

    fn new(mut keys: Vec<String>) -> Self {
        keys.retain(|key| key.len() >= MIN_KEY_LENGTH);
        // If one key contains another, the longer one is masked first.
        keys.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        keys.dedup();
        Self(keys.into_iter().map(|key| Finder::new(key.as_bytes()).into_owned()).collect())
    }

    /// Whether a key occurs in the text.
    pub(crate) fn occur_in(&self, text: &[u8]) -> bool {
        self.0.iter().any(|key| key.find(text).is_some())
    }

    /// A mask for one response; `None` if there is nothing to mask.
    pub(crate) fn mask(&self, is_error: bool) -> Option<KeyMask> {
        let is_masked = |key: &&Finder<'_>| is_error || key.needle().len() >= MIN_UNMISTAKABLE_LENGTH;
        let keys: Vec<Finder<'static>> = self.0.iter().filter(is_masked).cloned().collect();
        (!keys.is_empty()).then(|| KeyMask { keys, held: Vec::new() })
    }
}

/// Masks keys in a streamed response, also across chunk boundaries.
pub(crate) struct KeyMask {
    keys: Vec<Finder<'static>>,
    /// The end of the last chunk, if a key may begin there.
    held: Vec<u8>,
}

impl KeyMask {
    /// The next chunk, masked. Copies nothing unless a key may be in it.
    pub(crate) fn feed(&mut self, piece: Bytes) -> Bytes {
        let has_key = || self.keys.iter().any(|key| key.find(&piece).is_some());
        if self.held.is_empty() && self.begun(&piece) == 0 && !has_key() {
            return piece;
        }
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(&piece);
        for key in &self.keys {
            let mut from = 0;
            while let Some(at) = text.get(from..).and_then(|rest| key.find(rest)) {
                let end = from + at + key.needle().len();
                text[from + at..end].fill(MASK);
                from = end;
            }
        }
        let held = self.begun(&text);
        self.held = text.split_off(text.len() - held);
        text.into()
    }

    /// The held-back bytes, at the end of the response.
    pub(crate) fn end(&mut self) -> Bytes {
        std::mem::take(&mut self.held).into()
    }

    /// The number of bytes at the end of the text that may begin a key.
    fn begun(&self, text: &[u8]) -> usize {
        let begun = |key: &Finder<'_>| {
            let longest = text.len().min(key.needle().len() - 1);
            (1..=longest).rev().find(|length| text.ends_with(&key.needle()[..*length])).unwrap_or(0)
        };
        self.keys.iter().map(begun).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "sk-ant-0123456789-abcdef";
    const SHORT: &str = "key-1234";

    fn keys() -> ProviderKeys {
        ProviderKeys::new([LONG, SHORT, "ollama"].map(str::to_owned).to_vec())
    }

    fn masked(text: &str, size: usize, is_error: bool) -> String {
        let mut mask = keys().mask(is_error).unwrap();
        let mut out = Vec::new();
        for piece in text.as_bytes().chunks(size) {
            out.extend_from_slice(&mask.feed(Bytes::copy_from_slice(piece)));
        }
        out.extend_from_slice(&mask.end());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn keys_are_masked_however_the_answer_is_split() {
        let text = format!("bad key {LONG}, {LONG}{SHORT} of ollama; sk-ant-0 key-12");
        let stars = |key: &str| "*".repeat(key.len());
        let expected =
            format!("bad key {}, {}{} of ollama; sk-ant-0 key-12", stars(LONG), stars(LONG), stars(SHORT));
        for size in 1..=text.len() {
            assert_eq!(masked(&text, size, true), expected, "in pieces of {size}");
        }
    }

    #[test]
    fn short_key_is_masked_only_in_errors() {
        assert_eq!(masked("key-1234 opens", 100, false), "key-1234 opens");
        assert_eq!(masked("key-1234 opens", 100, true), "******** opens");
        assert!(keys().occur_in(b"x key-1234") && !keys().occur_in(b"ollama"));
        assert!(ProviderKeys::new(vec!["none".to_owned()]).mask(true).is_none());
    }

    #[test]
    fn answer_without_a_key_is_not_copied() {
        let piece = Bytes::from_static(b"data: {}\n\n");
        let passed = keys().mask(true).unwrap().feed(piece.clone());
        assert_eq!(passed.as_ptr(), piece.as_ptr());
    }
}
