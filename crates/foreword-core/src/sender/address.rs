//! Normalised addresses of message senders.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::serde_text::serde_as_text;

/// An invalid address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid sender address: it needs 1 to {} characters without control characters",
    SenderAddress::MAX_CHARS
)]
pub struct BadAddress;

/// A sender's normalised address.
///
/// Surrounding white space is removed and accents are composed (NFC). A hexadecimal number, alone or after the last
/// `:`, is lower case, because the case of an Ethereum address is only a checksum. Nothing else is normalised:
/// `Alice@example.org` and `alice@example.org` may be different people, and two histories for one person are better
/// than a shared one.
///
/// It may contain invisible characters; print it through `foreword_prompt::untrusted::OutsideName`.
///
/// ```
/// use foreword_core::sender::SenderAddress;
/// let address = |text: &str| SenderAddress::new(text).unwrap();
/// assert_eq!(address(" 0xABCdef01 ").as_str(), "0xabcdef01");
/// assert_eq!(address("base:0XAB").as_str(), "base:0xab");
/// assert_eq!(address("signal:+15550100").as_str(), "signal:+15550100");
/// assert_ne!(address("Alice"), address("alice"));
/// assert!(SenderAddress::new("alice\nbob").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SenderAddress(Arc<str>);

impl SenderAddress {
    /// The maximum length, in characters.
    pub const MAX_CHARS: usize = 200;

    /// Normalises `text`.
    ///
    /// # Errors
    /// If it is empty, too long, or contains a control character.
    pub fn new(text: &str) -> Result<Self, BadAddress> {
        let trimmed = text.trim();
        // Composing at most triples the length; this check avoids composing a huge text.
        let too_long = trimmed.chars().nth(4 * Self::MAX_CHARS).is_some();
        if trimmed.is_empty() || too_long || trimmed.chars().any(char::is_control) {
            return Err(BadAddress);
        }
        let composed: String =
            if is_nfc(trimmed) { trimmed.to_owned() } else { trimmed.nfc().collect::<String>() };
        if composed.chars().count() > Self::MAX_CHARS {
            return Err(BadAddress);
        }
        Ok(Self(lower_hexadecimal(composed).into()))
    }

    /// The normalised address.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text with a hexadecimal number after the last `:` in lower case.
fn lower_hexadecimal(text: String) -> String {
    let (family, number) = text.rsplit_once(':').map_or(("", text.as_str()), |(family, number)| {
        (text.get(..=family.len()).unwrap_or_default(), number)
    });
    let digits = number.strip_prefix("0x").or_else(|| number.strip_prefix("0X")).unwrap_or_default();
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_number { format!("{family}{}", number.to_ascii_lowercase()) } else { text }
}

impl fmt::Display for SenderAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SenderAddress {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        Self::new(text)
    }
}

serde_as_text!(SenderAddress);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_address_are_one_address() {
        let check = |text: &str, expected: &str| {
            assert_eq!(SenderAddress::new(text).unwrap().as_str(), expected, "{text:?}");
        };
        check("0xAbCdEf0123456789aBcDeF0123456789abcdef01", "0xabcdef0123456789abcdef0123456789abcdef01");
        check("\t0XFF\n", "0xff");
        check("eip155:8453:0xAB", "eip155:8453:0xab");
        check("Base:0xAB", "Base:0xab");
        check("Zoe\u{308}", "Zoë");
        // None of these is a number.
        for other in
            ["0x", "0xZZ", "0xAB CD", "x0AB", "signal:+1 555 0100", "Alice@Example.org", "0xAB:Alice", ":"]
        {
            check(other, other);
        }
    }

    #[test]
    fn invalid_addresses_are_rejected() {
        let long = "a".repeat(SenderAddress::MAX_CHARS + 1);
        for bad in ["", "   ", "a\0b", "a\nb", "\u{1b}[0m", &long, &"e\u{301}".repeat(100_000)] {
            assert_eq!(SenderAddress::new(bad), Err(BadAddress), "{:.20}", bad.escape_debug().to_string());
        }
        assert!(SenderAddress::new(&"é".repeat(SenderAddress::MAX_CHARS)).is_ok());
        assert!(SenderAddress::new(&"e\u{301}".repeat(SenderAddress::MAX_CHARS)).is_ok());
    }
}
