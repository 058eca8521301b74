//! Marks along a text: sixteen bits for every 64 bytes, counted from its front and from its back. They tell where two
//! texts part and where they meet again, to 64 bytes, when one of them is no longer at hand.

use std::ops::Range;
use std::sync::Arc;

use super::key::Hashing;

/// How many bytes a mark stands for.
pub(super) const CHUNK: usize = 64;

/// The marks of one text. Requests that follow one another share those of the texts they have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marks {
    /// Those from the front, and as many from the back. In one allocation, because a request has hundreds of texts.
    both: Arc<[u16]>,
}

impl Marks {
    pub(super) fn of(hashing: &Hashing, pieces: &[&[u8]]) -> Self {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        let count = length.div_ceil(CHUNK);
        let mut both = Vec::with_capacity(2 * count);
        for_each_chunk(pieces, CHUNK, |chunk| both.push(hashing.mark(chunk)));
        match length % CHUNK {
            // Both ways give the same chunks.
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

    /// Of each 64 bytes from the front; the last may stand for fewer.
    fn front(&self) -> &[u16] {
        &self.both[..self.both.len() / 2]
    }

    /// Of each 64 bytes as counted from the back; the first may stand for fewer. What was put in near the front moves
    /// everything behind it, and only these find it again.
    fn back(&self) -> &[u16] {
        &self.both[self.both.len() / 2..]
    }
}

/// Calls `each` with chunks of the text, the first of `first` bytes. Only what lies across two pieces is copied.
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

/// Where a text differs from the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Differing {
    /// From the first 64 bytes that differ to the last, in the text as it is now.
    pub(super) range: Range<usize>,
    /// The stretches of 64 bytes that hold a difference. None, if the place is not known.
    pub(super) windows: Vec<Range<usize>>,
    /// By how many bytes the text grew or shrank.
    pub(super) length_change: usize,
}

/// A text by its marks and its length.
#[derive(Clone, Copy)]
pub(super) struct Marked<'a> {
    pub(super) marks: &'a Marks,
    pub(super) length: usize,
}

/// Where `now` differs from `before`, which are known not to be equal.
pub(super) fn differing(before: Marked<'_>, now: Marked<'_>) -> Differing {
    let length_change = before.length.abs_diff(now.length);
    if length_change == 0 {
        return in_place(before, now);
    }
    let same_front = matching(before.marks.front().iter(), now.marks.front().iter());
    let from = (same_front * CHUNK).min(before.length.min(now.length));
    let same_back = matching(before.marks.back().iter().rev(), now.marks.back().iter().rev());
    // What is the same in front can't be the same at the back once more.
    let same_back = same_back.min((before.length.min(now.length) - from) / CHUNK);
    let to = now.length - same_back * CHUNK;
    Differing { range: from..to, windows: windows(from, to), length_change }
}

/// The same length: chunk against chunk.
fn in_place(before: Marked<'_>, now: Marked<'_>) -> Differing {
    let pairs = before.marks.front().iter().zip(now.marks.front()).enumerate();
    let windows: Vec<_> = pairs
        .filter(|(_, (before, now))| before != now)
        .map(|(index, _)| index * CHUNK..((index + 1) * CHUNK).min(now.length))
        .collect();
    let range = match (windows.first(), windows.last()) {
        (Some(first), Some(last)) => first.start..last.end,
        // Sixteen bits may be the same by chance: then it is somewhere.
        _ => 0..now.length,
    };
    Differing { range, windows, length_change: 0 }
}

fn matching<'a>(before: impl Iterator<Item = &'a u16>, now: impl Iterator<Item = &'a u16>) -> usize {
    before.zip(now).take_while(|(before, now)| before == now).count()
}

/// Stretches of at most 64 bytes from `from` to `to`; the last one ends there.
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
        let (old, new) = (Marks::of(&hashing, &[before.as_bytes()]), Marks::of(&hashing, &[now.as_bytes()]));
        let before = Marked { marks: &old, length: before.len() };
        differing(before, Marked { marks: &new, length: now.len() }).range
    }

    #[test]
    fn a_change_is_found_from_the_front_and_from_the_back() {
        let text: String = (0..400).map(|number| format!("{number} ")).collect();
        let with = |word: &str| format!("{}{word}{}", &text[..500], &text[500..]);
        assert_eq!(found(&with("seven"), &with("eight")), 448..512);
        // Nine bytes more, and the rest is found again.
        let range = found(&with(""), &with("seventeen"));
        assert!(range.start == 448 && range.end >= 509 && range.end < 509 + 64, "{range:?}");
        // Text that is gone leaves a place where it was.
        let range = found(&with("seventeen"), &with(""));
        assert!(range.start == 448 && range.end < 500 + 64, "{range:?}");
    }

    #[test]
    fn pieces_make_no_difference() {
        let hashing = Hashing::new(&ShapeKey::from_bytes([3; 32]));
        let text: Vec<u8> = (0..300_u32).map(|number| (number * 7) as u8).collect();
        for cut in 0..text.len() {
            let (front, back) = text.split_at(cut);
            let (middle, end) = back.split_at(back.len() / 3);
            assert_eq!(Marks::of(&hashing, &[front, middle, end]), Marks::of(&hashing, &[&text]), "{cut}");
            assert_eq!(hashing.text(&[front, middle, end]), hashing.text(&[&text]), "{cut}");
        }
    }
}
