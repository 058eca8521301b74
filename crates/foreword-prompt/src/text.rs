//! Text in prompts: `\n` line ends, and content hashes.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A content hash, printed as `blake3:…`.
///
/// ```
/// use foreword_prompt::text::ContentHash;
/// assert_eq!(ContentHash::of("a"), ContentHash::of("a"));
/// assert!(ContentHash::of("a").to_string().starts_with("blake3:"));
/// assert_eq!(ContentHash::of("a").to_string().parse(), Ok(ContentHash::of("a")));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// The hash of `text`.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(*blake3::hash(text.as_bytes()).as_bytes())
    }

    /// Its 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The hash of several texts in order; unambiguous about their boundaries.
    #[must_use]
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Self(*hasher.finalize().as_bytes())
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "blake3:{}", blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for ContentHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An invalid content hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a content hash: write `blake3:` and 64 hexadecimal digits")]
pub struct BadContentHash(pub String);

impl FromStr for ContentHash {
    type Err = BadContentHash;

    fn from_str(text: &str) -> Result<Self, BadContentHash> {
        let hash = text.strip_prefix("blake3:").and_then(|digits| blake3::Hash::from_hex(digits).ok());
        hash.map(|hash| Self(*hash.as_bytes())).ok_or_else(|| BadContentHash(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// `text` with `\n` line ends, so that the same text has the same bytes on every machine.
///
/// ```
/// use foreword_prompt::text::normalise_line_ends;
/// assert_eq!(normalise_line_ends("a\r\nb\rc\n"), "a\nb\nc\n");
/// ```
#[must_use]
pub fn normalise_line_ends(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// `number` with a thousands separator, as in menus and reports.
///
/// ```
/// assert_eq!(foreword_prompt::text::with_thousands(3847), "3,847");
/// ```
#[must_use]
pub fn with_thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
