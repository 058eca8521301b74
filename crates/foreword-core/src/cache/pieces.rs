//! A text as it lies in memory: in one piece, or in several with something between them that is not part of it.

use std::ops::Range;

/// Borrowed bytes, in one piece or in several that are read as one.
///
/// A marker for the cache that stands within a JSON body is not part of what is cached: give what is before it and what
/// is behind it.
///
/// ```
/// use foreword_core::cache::{RequestShape, ShapeKey};
/// let key = ShapeKey::from_bytes([0; 32]);
/// let whole = RequestShape::builder(&key, "m").message("user", "hello world", None).build();
/// let pieces: [&[u8]; 2] = [b"hello ", b"world"];
/// let same = RequestShape::builder(&key, "m").message("user", &pieces[..], None).build();
/// assert_eq!(whole, same);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Pieces<'a>(Lying<'a>);

#[derive(Debug, Clone, Copy)]
enum Lying<'a> {
    Together([&'a [u8]; 1]),
    Apart(&'a [&'a [u8]]),
}

impl<'a> Pieces<'a> {
    pub(super) fn as_slice(&self) -> &[&'a [u8]] {
        match &self.0 {
            Lying::Together(one) => one,
            Lying::Apart(several) => several,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.as_slice().iter().map(|piece| piece.len()).sum()
    }

    /// The pieces of a part of it.
    pub(super) fn part(&self, range: &Range<usize>) -> Vec<&'a [u8]> {
        let mut before = 0;
        let mut part = Vec::with_capacity(1);
        for piece in self.as_slice() {
            let start = range.start.saturating_sub(before).min(piece.len());
            let end = range.end.saturating_sub(before).min(piece.len());
            if start < end {
                part.push(&piece[start..end]);
            }
            before += piece.len();
        }
        part
    }
}

impl<'a> From<&'a [u8]> for Pieces<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self(Lying::Together([bytes]))
    }
}

impl<'a> From<&'a str> for Pieces<'a> {
    fn from(text: &'a str) -> Self {
        Self::from(text.as_bytes())
    }
}

impl<'a> From<&'a [&'a [u8]]> for Pieces<'a> {
    fn from(pieces: &'a [&'a [u8]]) -> Self {
        Self(Lying::Apart(pieces))
    }
}
