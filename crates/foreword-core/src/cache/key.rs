//! The key under which requests are reduced to hashes. Without it nobody can try out guesses against a stored shape.

use std::fmt;

use twox_hash::xxhash3_128::{RawHasher, SecretBuffer};
use twox_hash::{XxHash3_64, XxHash3_128};

/// How long the secret of the fast hash is.
const SECRET: usize = 192;

/// Texts up to this length are hashed in one piece: the hash in pieces leaves the secret out of them.
const SHORT: usize = 240;

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
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        let fast = match pieces {
            [one] => self.fast(one),
            several if length <= SHORT => {
                let mut together = [0; SHORT];
                let mut end = 0;
                for piece in several {
                    together[end..end + piece.len()].copy_from_slice(piece);
                    end += piece.len();
                }
                self.fast(&together[..end])
            }
            several => self.fast_in_pieces(several),
        };
        let mut inner = [0; 24];
        inner[..16].copy_from_slice(&fast.to_le_bytes());
        inner[16..].copy_from_slice(&(length as u64).to_le_bytes());
        let hash = blake3::keyed_hash(&self.outer, &inner);
        let mut kept = TextHash::default();
        kept.copy_from_slice(&hash.as_bytes()[..16]);
        kept
    }

    pub(super) fn secret(&self) -> &[u8] {
        &self.secret
    }

    fn fast(&self, text: &[u8]) -> u128 {
        // Only a secret of fewer than 136 bytes is refused.
        XxHash3_128::oneshot_with_secret(&self.secret, text).unwrap_or_default()
    }

    fn fast_in_pieces(&self, pieces: &[&[u8]]) -> u128 {
        let fast = SecretBuffer::new(0, self.secret).map(|secret| {
            let mut fast = RawHasher::new(secret);
            pieces.iter().for_each(|piece| fast.write(piece));
            fast.finish_128()
        });
        fast.unwrap_or_default()
    }

    /// The mark of a few bytes.
    pub(super) fn mark(&self, bytes: &[u8]) -> u16 {
        // Any sixteen bits of it are as good as any others.
        XxHash3_64::oneshot_with_secret(&self.secret, bytes).unwrap_or_default() as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_key_gives_other_hashes_and_marks_whatever_the_length() {
        let [one, other] = [1, 2].map(|byte| Hashing::new(&ShapeKey::from_bytes([byte; 32])));
        let text: Vec<u8> = (0..600_u32).map(|number| (number * 7) as u8).collect();
        for length in 0..text.len() {
            let (front, back) = text[..length].split_at(length / 3);
            // Before the last step too: what is marked is only hashed the fast way.
            assert_ne!(one.fast(&text[..length]), other.fast(&text[..length]), "{length}");
            assert_eq!(one.text(&[front, back]), one.text(&[&text[..length]]), "{length}");
            assert_ne!(one.text(&[front, back]), other.text(&[front, back]), "{length}");
        }
        let marks =
            |hashing: &Hashing| -> Vec<u16> { (0..=64).map(|end| hashing.mark(&text[..end])).collect() };
        let same = marks(&one).iter().zip(marks(&other)).filter(|(one, other)| **one == *other).count();
        assert!(same <= 2, "{same}");
    }

    #[test]
    fn in_pieces_the_secret_counts_for_all_that_is_not_short() {
        let [one, other] = [1, 2].map(|byte| Hashing::new(&ShapeKey::from_bytes([byte; 32])));
        let text = [7; SHORT + 1];
        let (front, back) = text.split_at(100);
        assert_eq!(one.fast_in_pieces(&[front, back]), one.fast(&text));
        assert_ne!(one.fast_in_pieces(&[front, back]), other.fast_in_pieces(&[front, back]));
    }
}
