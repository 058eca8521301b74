//! A token as text: made once, shown once, and known by its hash afterwards.

use std::fmt;

use foreword_core::api_token::TokenHash;

/// What every token begins with, so that one that was left lying about is recognised.
pub const PREFIX: &str = "fwd_";
/// The characters behind it.
const DIGITS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// How many there are.
const LENGTH: usize = 32;

/// A token's text. Nothing prints it but whoever made it.
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
    /// A fresh one, out of unguessable bytes.
    #[must_use]
    pub fn from_random(bytes: [u8; 32]) -> Self {
        let digit = |byte: u8| char::from(DIGITS[usize::from(byte) % DIGITS.len()]);
        Self(PREFIX.chars().chain(bytes.into_iter().map(digit)).collect())
    }

    /// What somebody has sent, if it has the form of a token.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let is_digit = |byte: u8| DIGITS.contains(&byte);
        (digits.len() == LENGTH && digits.bytes().all(is_digit)).then(|| Self(text.to_owned()))
    }

    /// Whether a token is somewhere in a text, valid or not.
    pub(crate) fn is_in(text: &[u8]) -> bool {
        let digits = |at: usize| text.get(at + PREFIX.len()..at + PREFIX.len() + LENGTH);
        memchr::memmem::find_iter(text, PREFIX)
            .any(|at| digits(at).is_some_and(|digits| digits.iter().all(|byte| DIGITS.contains(byte))))
    }

    /// The text, for the one who shows or sends it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is stored of it.
    #[must_use]
    pub fn hash(&self) -> TokenHash {
        TokenHash::new(format!("blake3:{}", self.digest().to_hex()))
    }

    /// The same as bytes, which are compared in constant time.
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
    fn only_what_has_the_form_of_a_token_is_read_as_one() {
        let token = Credential::from_random([250; 32]);
        assert_eq!(Credential::read(token.reveal()), Some(token.clone()));
        let upper = token.reveal().to_uppercase();
        let long = format!("{}a", token.reveal());
        for other in ["", "fwd_", "sk-ant-key", "fwd_short", &upper, &long, &token.reveal()[4..]] {
            assert_eq!(Credential::read(other), None, "{other}");
        }
    }
}
