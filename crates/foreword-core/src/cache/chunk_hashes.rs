//! Hashes of the 64-byte chunks of a text, counted from its start and from its end. They locate a change to 64 bytes
//! when the previous text is no longer available.

use std::ops::Range;
use std::sync::Arc;

use super::key::Hashing;

/// The chunk size, in bytes.
pub(super) const CHUNK: usize = 64;

/// The chunk hashes of one text. Consecutive requests share those of their common texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChunkHashes {
    /// The hashes from the start, then as many from the end. One allocation, because a request has hundreds of texts.
    both: Arc<[u16]>,
}

impl ChunkHashes {
    pub(super) fn of(hashing: &Hashing, pieces: &[&[u8]]) -> Self {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        let count = length.div_ceil(CHUNK);
        let mut both = Vec::with_capacity(2 * count);
        for_each_chunk(pieces, CHUNK, |chunk| both.push(hashing.mark(chunk)));
        match length % CHUNK {
            // Both directions give the same chunks.
            0 => both.extend_from_within(..),
            uneven => for_each_chunk(pieces, uneven, |chunk| both.push(hashing.mark(chunk))),
        }
        Self::from_both(both)
    }

    pub(super) fn from_both(both: Vec<u16>) -> Self {
        Self { both: both.into() }
    }

    pub(super) fn both(&self) -> &[u16] {
        &self.both
    }

    #[cfg(test)]
    pub(super) fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.both, &other.both)
    }

    /// Chunks counted from the start; the last may be shorter.
    fn front(&self) -> &[u16] {
        &self.both[..self.both.len() / 2]
    }

    /// Chunks counted from the end; the first may be shorter. Inserted text shifts all later chunks, and only these
    /// hashes still match.
    fn back(&self) -> &[u16] {
        &self.both[self.both.len() / 2..]
    }
}

/// Calls `each` with the chunks of the text; the first has `first` bytes. Only chunks across two pieces are copied.
fn for_each_chunk(pieces: &[&[u8]], first: usize, mut each: impl FnMut(&[u8])) {
    let mut carried = [0; CHUNK];
    let mut held = 0;
    let mut wanted = first;
    for piece in pieces {
        let mut rest = *piece;
        if held > 0 {
            let taken = rest.len().min(wanted - held);
            carried[held..held + taken].copy_from_slice(&rest[..taken]);
            held += taken;
            rest = &rest[taken..];
            if held < wanted {
                continue;
            }
            each(&carried[..held]);
            wanted = CHUNK;
        }
        while rest.len() >= wanted {
            each(&rest[..wanted]);
            rest = &rest[wanted..];
            wanted = CHUNK;
        }
        carried[..rest.len()].copy_from_slice(rest);
        held = rest.len();
    }
    if held > 0 {
        each(&carried[..held]);
    }
}

/// Where a text differs from the previous one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Differing {
    /// From the first to the last differing chunk, in the current text.
    pub(super) range: Range<usize>,
    /// The chunks with a difference; empty if the position is unknown.
    pub(super) windows: Vec<Range<usize>>,
    /// By how many bytes the length changed.
    pub(super) length_change: usize,
}

/// The chunk hashes and length of a text.
#[derive(Clone, Copy)]
pub(super) struct HashedChunks<'a> {
    pub(super) marks: &'a ChunkHashes,
    pub(super) length: usize,
}

/// Where `now` differs from `before`. They must not be equal.
pub(super) fn differing(before: HashedChunks<'_>, now: HashedChunks<'_>) -> Differing {
    let length_change = before.length.abs_diff(now.length);
    if length_change == 0 {
        return in_place(before, now);
    }
    let same_front = matching(before.marks.front().iter(), now.marks.front().iter());
    let from = (same_front * CHUNK).min(before.length.min(now.length));
    let same_back = matching(before.marks.back().iter().rev(), now.marks.back().iter().rev());
    // The equal start and the equal end must not overlap.
    let same_back = same_back.min((before.length.min(now.length) - from) / CHUNK);
    let to = now.length - same_back * CHUNK;
    Differing { range: from..to, windows: windows(from, to), length_change }
}

/// For texts of the same length: compares chunk by chunk.
fn in_place(before: HashedChunks<'_>, now: HashedChunks<'_>) -> Differing {
    let pairs = before.marks.front().iter().zip(now.marks.front()).enumerate();
    let windows: Vec<_> = pairs
        .filter(|(_, (before, now))| before != now)
        .map(|(index, _)| index * CHUNK..((index + 1) * CHUNK).min(now.length))
        .collect();
    let range = match (windows.first(), windows.last()) {
        (Some(first), Some(last)) => first.start..last.end,
        // All 16-bit hashes collide: the position is unknown.
        _ => 0..now.length,
    };
    Differing { range, windows, length_change: 0 }
}

fn matching<'a>(before: impl Iterator<Item = &'a u16>, now: impl Iterator<Item = &'a u16>) -> usize {
    before.zip(now).take_while(|(before, now)| before == now).count()
}

/// Chunks of at most 64 bytes from `from` to `to`; the last one ends at `to`.
fn windows(from: usize, to: usize) -> Vec<Range<usize>> {
    let mut windows: Vec<_> = (from..to).step_by(CHUNK).map(|start| start..(start + CHUNK).min(to)).collect();
    if let Some(last) = windows.last_mut() {
        last.start = to.saturating_sub(CHUNK).max(from);
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::super::key::ShapeKey;
    use super::*;

    fn found(before: &str, now: &str) -> Range<usize> {
        let hashing = Hashing::new(&ShapeKey::from_bytes([3; 32]));
        let (old, new) =
            (ChunkHashes::of(&hashing, &[before.as_bytes()]), ChunkHashes::of(&hashing, &[now.as_bytes()]));
        let before = HashedChunks { marks: &old, length: before.len() };
        differing(before, HashedChunks { marks: &new, length: now.len() }).range
    }

    #[test]
    fn change_is_located_from_both_ends() {
        let text: String = (0..400).map(|number| format!("{number} ")).collect();
        let with = |word: &str| format!("{}{word}{}", &text[..500], &text[500..]);
        assert_eq!(found(&with("seven"), &with("eight")), 448..512);
        // Nine bytes inserted; the rest matches again.
        let range = found(&with(""), &with("seventeen"));
        assert!(range.start == 448 && range.end >= 509 && range.end < 509 + 64, "{range:?}");
        // Removed text leaves a position.
        let range = found(&with("seventeen"), &with(""));
        assert!(range.start == 448 && range.end < 500 + 64, "{range:?}");
    }

    #[test]
    fn chunk_hashes_do_not_depend_on_pieces() {
        let hashing = Hashing::new(&ShapeKey::from_bytes([3; 32]));
        let text: Vec<u8> = (0..300_u32).map(|number| (number * 7) as u8).collect();
        for cut in 0..text.len() {
            let (front, back) = text.split_at(cut);
            let (middle, end) = back.split_at(back.len() / 3);
            assert_eq!(
                ChunkHashes::of(&hashing, &[front, middle, end]),
                ChunkHashes::of(&hashing, &[&text]),
                "{cut}"
            );
            assert_eq!(hashing.text(&[front, middle, end]), hashing.text(&[&text]), "{cut}");
        }
    }
}
