//! The key under which requests are reduced to hashes. Without it nobody can try out guesses against a stored shape.

use std::fmt;

use twox_hash::xxhash3_128::{RawHasher, SecretBuffer};
use twox_hash::{XxHash3_64, XxHash3_128};

/// How long the secret of the fast hash is.
const SECRET: usize = 192;

/// A secret of 32 bytes, one for each installation. Shapes made under different keys can't be compared.
///
/// ```
/// use foreword_core::cache::ShapeKey;
/// assert_eq!(format!("{:?}", ShapeKey::from_bytes([7; 32])), "ShapeKey(…)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ShapeKey([u8; 32]);

impl ShapeKey {
    /// The key made of these bytes, which somebody drew by chance and keeps.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for ShapeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShapeKey(…)")
    }
}

/// What a text is known by: 128 bits under a key.
pub(super) type TextHash = [u8; 16];

/// By which key a shape was made, without telling the key.
pub(super) type KeyId = [u8; 4];

/// The keys that are made of a [`ShapeKey`], one for each use.
pub(super) struct Hashing {
    outer: [u8; 32],
    secret: [u8; SECRET],
    pub(super) key_id: KeyId,
}

impl Hashing {
    pub(super) fn new(key: &ShapeKey) -> Self {
        let mut stream = blake3::Hasher::new_keyed(&key.0).update(b"foreword cache shape 1").finalize_xof();
        let mut hashing = Self { outer: [0; 32], secret: [0; SECRET], key_id: [0; 4] };
        stream.fill(&mut hashing.outer);
        stream.fill(&mut hashing.secret);
        stream.fill(&mut hashing.key_id);
        hashing
    }

    /// The hash of a text that comes in pieces.
    ///
    /// BLAKE3 is fast on long texts and five times slower on the many short ones that a request is made of. So the text
    /// goes through a fast hash under a secret, and BLAKE3 makes of that what is kept: whoever has no key learns from
    /// it only which texts are equal.
    pub(super) fn text(&self, pieces: &[&[u8]]) -> TextHash {
        let fast = match pieces {
            [one] => XxHash3_128::oneshot_with_secret(&self.secret, one).ok(),
            several => SecretBuffer::new(0, self.secret).ok().map(|secret| {
                let mut fast = RawHasher::new(secret);
                several.iter().for_each(|piece| fast.write(piece));
                fast.finish_128()
            }),
        };
        // Only a secret of fewer than 136 bytes is refused.
        let fast = fast.unwrap_or_default();
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        let mut inner = [0; 24];
        inner[..16].copy_from_slice(&fast.to_le_bytes());
        inner[16..].copy_from_slice(&(length as u64).to_le_bytes());
        let hash = blake3::keyed_hash(&self.outer, &inner);
        let mut kept = TextHash::default();
        kept.copy_from_slice(&hash.as_bytes()[..16]);
        kept
    }

    /// The mark of a few bytes.
    pub(super) fn mark(&self, bytes: &[u8]) -> u16 {
        // Any sixteen bits of it are as good as any others.
        XxHash3_64::oneshot_with_secret(&self.secret, bytes).unwrap_or_default() as u16
    }
}
