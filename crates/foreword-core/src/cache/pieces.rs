//! Borrowed text in one or more pieces.

use std::ops::Range;

/// Borrowed bytes in one or more pieces that are hashed as one text.
///
/// Cache markers inside a JSON body are not part of the cached text: pass the bytes before and after the marker.
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
pub struct Pieces<'a>(Storage<'a>);

#[derive(Debug, Clone, Copy)]
enum Storage<'a> {
    One([&'a [u8]; 1]),
    Many(&'a [&'a [u8]]),
}

impl<'a> Pieces<'a> {
    pub(super) fn as_slice(&self) -> &[&'a [u8]] {
        match &self.0 {
            Storage::One(one) => one,
            Storage::Many(several) => several,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.as_slice().iter().map(|piece| piece.len()).sum()
    }

    /// The pieces of a byte range.
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
        Self(Storage::One([bytes]))
    }
}

impl<'a> From<&'a str> for Pieces<'a> {
    fn from(text: &'a str) -> Self {
        Self::from(text.as_bytes())
    }
}

impl<'a> From<&'a [&'a [u8]]> for Pieces<'a> {
    fn from(pieces: &'a [&'a [u8]]) -> Self {
        Self(Storage::Many(pieces))
    }
}
