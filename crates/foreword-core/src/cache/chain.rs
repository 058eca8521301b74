//! Hash chains over message lists. Each [`Link`] identifies a message together with all messages before it, so lists
//! with a common prefix have chains with a common prefix. Links contain no text.

use std::fmt;
use std::sync::Arc;

use twox_hash::XxHash3_64;

use super::key::{Hashing, ShapeKey, TextHash};
use super::pieces::Pieces;

/// Computes links with a secret key, so that stored links cannot be used to test guesses. Also holds the keys for
/// shapes; see [`RequestShape::begin`](super::RequestShape::begin).
///
/// ```
/// use foreword_core::cache::{ChainKey, ShapeKey};
/// let key = ChainKey::of(&ShapeKey::from_bytes([0; 32]));
/// let hello = key.link(key.start("anthropic"), "user", "hello");
/// let pieces: [&[u8]; 2] = [b"hel", b"lo"];
/// assert_eq!(key.link(key.start("anthropic"), "user", &pieces[..]), hello);
/// assert_ne!(key.link(hello, "user", "hello"), hello);
/// ```
#[derive(Clone)]
pub struct ChainKey(Arc<Hashing>);

/// The hash of a text, usable for a chain and a shape. Contains no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashedText {
    pub(super) hash: TextHash,
    pub(super) bytes: usize,
}

/// The hash of a message and all messages before it. `Display` prints sixteen hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link(u64);

impl ChainKey {
    /// Derives the chain key from the key of the shapes.
    #[must_use]
    pub fn of(key: &ShapeKey) -> Self {
        Self(Arc::new(Hashing::new(key)))
    }

    /// The link before the first message of a list of this kind.
    #[must_use]
    pub fn start(&self, kind: &str) -> Link {
        self.joined(Link(0), kind, [0; 16])
    }

    /// The link of a message that follows `before`.
    #[must_use]
    pub fn link<'a>(&self, before: Link, role: &str, text: impl Into<Pieces<'a>>) -> Link {
        self.link_hashed(before, role, self.hash(text))
    }

    /// Hashes a text, for callers that need the hash more than once.
    ///
    /// ```
    /// use foreword_core::cache::{ChainKey, ShapeKey};
    /// let key = ChainKey::of(&ShapeKey::from_bytes([0; 32]));
    /// let (start, hello) = (key.start("anthropic"), key.hash("hello"));
    /// assert_eq!(key.link_hashed(start, "user", hello), key.link(start, "user", "hello"));
    /// ```
    #[must_use]
    pub fn hash<'a>(&self, text: impl Into<Pieces<'a>>) -> HashedText {
        let text = text.into();
        HashedText { hash: self.0.text(text.as_slice()), bytes: text.len() }
    }

    /// The link of a message that follows `before`, from the hash of its text under this key.
    #[must_use]
    pub fn link_hashed(&self, before: Link, role: &str, text: HashedText) -> Link {
        self.joined(before, role, text.hash)
    }

    pub(super) fn hashing(&self) -> Arc<Hashing> {
        Arc::clone(&self.0)
    }

    fn joined(&self, Link(before): Link, role: &str, hash: TextHash) -> Link {
        // Longer role names are distinguished by the hashed text, which includes the name of the author.
        let role = &role.as_bytes()[..role.len().min(16)];
        let mut bytes = [0; 40];
        bytes[..8].copy_from_slice(&before.to_le_bytes());
        bytes[8..24].copy_from_slice(&hash);
        bytes[24..24 + role.len()].copy_from_slice(role);
        // Fails only if the secret is too short.
        Link(XxHash3_64::oneshot_with_secret(self.0.secret(), &bytes).unwrap_or_default())
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Link {
    /// Wraps a number.
    #[must_use]
    pub const fn from_number(number: u64) -> Self {
        Self(number)
    }

    /// Encodes a chain for the store.
    #[must_use]
    pub fn store(chain: &[Self]) -> String {
        chain.iter().map(Self::to_string).collect()
    }

    /// Decodes a stored chain, up to the first invalid link.
    ///
    /// ```
    /// use foreword_core::cache::Link;
    /// let chain = [Link::from_number(7), Link::from_number(u64::MAX)];
    /// assert_eq!(Link::read(&Link::store(&chain)), chain);
    /// assert_eq!(Link::read("0000000000000007 damaged"), chain[..1]);
    /// ```
    #[must_use]
    pub fn read(stored: &str) -> Vec<Self> {
        let links = stored.as_bytes().chunks_exact(16).map(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u64::from_str_radix(digits, 16).ok().map(Self)
        });
        links.map_while(|link| link).collect()
    }
}
