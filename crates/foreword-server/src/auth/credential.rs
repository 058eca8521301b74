//! The text of a token: generated and shown once. Only its hash is stored.

use std::fmt;

use foreword_core::api_token::TokenHash;

/// The prefix of every token, which makes leaked ones recognisable.
pub const PREFIX: &str = "fwd_";
/// The alphabet after the prefix.
const DIGITS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// The number of characters after the prefix.
const LENGTH: usize = 32;

/// The text of a token. `Debug` does not print it.
///
/// ```
/// use foreword_server::auth::credential::Credential;
/// let token = Credential::from_random([7; 32]);
/// assert!(token.reveal().starts_with("fwd_"));
/// assert_eq!(format!("{token:?}"), "Credential(…)");
/// assert_eq!(token.hash(), Credential::read(token.reveal()).unwrap().hash());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Credential(String);

impl Credential {
    /// Generates a token from random bytes.
    #[must_use]
    pub fn from_random(bytes: [u8; 32]) -> Self {
        let digit = |byte: u8| char::from(DIGITS[usize::from(byte) % DIGITS.len()]);
        Self(PREFIX.chars().chain(bytes.into_iter().map(digit)).collect())
    }

    /// Parses a token.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let is_digit = |byte: u8| DIGITS.contains(&byte);
        (digits.len() == LENGTH && digits.bytes().all(is_digit)).then(|| Self(text.to_owned()))
    }

    /// Whether the text contains a token, valid or not.
    pub(crate) fn is_in(text: &[u8]) -> bool {
        let digits = |at: usize| text.get(at + PREFIX.len()..at + PREFIX.len() + LENGTH);
        memchr::memmem::find_iter(text, PREFIX)
            .any(|at| digits(at).is_some_and(|digits| digits.iter().all(|byte| DIGITS.contains(byte))))
    }

    /// The text, to show or send it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn hash(&self) -> TokenHash {
        TokenHash::new(format!("blake3:{}", self.digest().to_hex()))
    }

    /// The hash as bytes, which are compared in constant time.
    pub(crate) fn digest(&self) -> blake3::Hash {
        blake3::hash(self.0.as_bytes())
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_well_formed_tokens_are_parsed() {
        let token = Credential::from_random([250; 32]);
        assert_eq!(Credential::read(token.reveal()), Some(token.clone()));
        let upper = token.reveal().to_uppercase();
        let long = format!("{}a", token.reveal());
        for other in ["", "fwd_", "sk-ant-key", "fwd_short", &upper, &long, &token.reveal()[4..]] {
            assert_eq!(Credential::read(other), None, "{other}");
        }
    }
}
