//! Chains: what a list of messages is known by, message by message. Each link stands for a message and for all before it,
//! so that two lists that begin alike have chains that begin alike. Holds no text.

use std::fmt;
use std::sync::Arc;

use twox_hash::XxHash3_64;

use super::key::{Hashing, ShapeKey, TextHash};
use super::pieces::Pieces;

/// Makes links under a key, so that nobody can try out guesses against stored ones. What a shape needs of the key is ready in
/// it: see [`RequestShape::begin`](super::RequestShape::begin).
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

/// A text that has been hashed: for a chain and for a shape it is the same. Holds no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashedText {
    pub(super) hash: TextHash,
    pub(super) bytes: usize,
}

/// A message, and all before it. As text it is sixteen hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link(u64);

impl ChainKey {
    /// The key that belongs to that of the shapes.
    #[must_use]
    pub fn of(key: &ShapeKey) -> Self {
        Self(Arc::new(Hashing::new(key)))
    }

    /// What stands before the first message of a list of this kind.
    #[must_use]
    pub fn start(&self, kind: &str) -> Link {
        self.joined(Link(0), kind, [0; 16])
    }

    /// The link for a message behind `before`.
    #[must_use]
    pub fn link<'a>(&self, before: Link, role: &str, text: impl Into<Pieces<'a>>) -> Link {
        self.link_hashed(before, role, self.hash(text))
    }

    /// Hashes a text, for whoever needs that more than once.
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

    /// The link for a message behind `before` whose text has been hashed under this key.
    #[must_use]
    pub fn link_hashed(&self, before: Link, role: &str, text: HashedText) -> Link {
        self.joined(before, role, text.hash)
    }

    pub(super) fn hashing(&self) -> Arc<Hashing> {
        Arc::clone(&self.0)
    }

    fn joined(&self, Link(before): Link, role: &str, hash: TextHash) -> Link {
        // Longer names are told apart by the text, which is hashed with whatever names its speaker.
        let role = &role.as_bytes()[..role.len().min(16)];
        let mut bytes = [0; 40];
        bytes[..8].copy_from_slice(&before.to_le_bytes());
        bytes[8..24].copy_from_slice(&hash);
        bytes[24..24 + role.len()].copy_from_slice(role);
        // Only a secret that is too short is refused.
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
    /// The link with this number.
    #[must_use]
    pub const fn from_number(number: u64) -> Self {
        Self(number)
    }

    /// A chain as it is stored.
    #[must_use]
    pub fn store(chain: &[Self]) -> String {
        chain.iter().map(Self::to_string).collect()
    }

    /// The chain that was stored like this; what is no link ends it.
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
