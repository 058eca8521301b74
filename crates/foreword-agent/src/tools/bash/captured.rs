//! What a command printed, as much of it as is kept: the beginning and the end, and how much is missing in between. Takes
//! the same memory however much there is.

use std::collections::VecDeque;

use foreword_prompt::text::with_thousands;

/// Output as it comes in.
#[derive(Debug)]
pub(super) struct Captured {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// How much each of the two may hold.
    half: usize,
    total: usize,
}

impl Captured {
    /// Room for `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        let half = (limit / 2).max(1);
        Self { head: Vec::new(), tail: VecDeque::new(), half, total: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len();
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(first);
        // Only the last of them can matter.
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// How much came in.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// How much of it the text has. A character that the cut goes through is not in it.
    pub(super) fn kept(&self) -> usize {
        if !self.is_cut() {
            return self.total;
        }
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        without_broken_end(&self.head).len() + without_broken_start(&tail).len()
    }

    /// How much is missing.
    pub(super) fn left_out(&self) -> usize {
        self.total - self.kept()
    }

    /// Whether more came in than there is room for.
    fn is_cut(&self) -> bool {
        self.head.len() + self.tail.len() < self.total
    }

    /// The text, with a line that says what is missing. Bytes that are no UTF-8, and NUL, become `\u{fffd}`.
    pub(super) fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let text = if !self.is_cut() {
            readable(&[self.head.as_slice(), &tail].concat())
        } else {
            let (head, tail) = (without_broken_end(&self.head), without_broken_start(&tail));
            let left_out = with_thousands(self.left_out());
            let (head, tail) = (readable(head), readable(tail));
            let (before, after) = (line_end(&head), if tail.starts_with('\n') { "" } else { "\n" });
            format!("{head}{before}[{left_out} bytes left out here]{after}{tail}")
        };
        text.trim_end_matches('\n').to_owned()
    }
}

fn line_end(text: &str) -> &'static str {
    if text.is_empty() || text.ends_with('\n') { "" } else { "\n" }
}

fn readable(bytes: &[u8]) -> String {
    // No store takes a NUL, and no model needs one.
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
}

/// `bytes` without a character that the cut went through.
fn without_broken_end(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

fn without_broken_start(bytes: &[u8]) -> &[u8] {
    let broken = bytes.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    &bytes[broken..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn captured(limit: usize, pieces: &[&[u8]]) -> Captured {
        let mut captured = Captured::new(limit);
        pieces.iter().for_each(|piece| captured.push(piece));
        captured
    }

    #[test]
    fn what_fits_is_kept_as_it_is() {
        assert_eq!(captured(12, &[b"ab", b"cdefgh", b"ij\n"]).text(), "abcdefghij");
        assert_eq!(captured(12, &[]).text(), "");
    }

    #[test]
    fn of_what_does_not_fit_the_middle_is_left_out() {
        let long = captured(8, &[b"0123456789", b"abcdef"]);
        assert_eq!(long.text(), "0123\n[8 bytes left out here]\ncdef");
        assert_eq!((long.total(), long.kept(), long.left_out()), (16, 8, 8));
    }

    #[test]
    fn a_cut_never_goes_through_a_character_and_odd_bytes_are_shown_as_such() {
        let text = captured(6, &["aéé".as_bytes(), "xxxxxxxx".as_bytes(), "éé".as_bytes()]).text();
        assert_eq!(text, "aé\n[12 bytes left out here]\né");
        let long = captured(6, &["aéé".as_bytes(), "xxxxxxxx".as_bytes(), "éé".as_bytes()]);
        assert_eq!((long.total(), long.kept(), long.left_out()), (17, 5, 12));
        assert_eq!(captured(20, &[b"a\0b\xff"]).text(), "a\u{fffd}b\u{fffd}");
    }

    proptest! {
        #[test]
        fn however_it_comes_in_the_same_is_kept(bytes in proptest::collection::vec(any::<u8>(), 0..200), limit in 2..50_usize, piece in 1..20_usize) {
            let whole = captured(limit, &[&bytes]);
            let pieces: Vec<&[u8]> = bytes.chunks(piece).collect();
            let pieces = captured(limit, &pieces);
            prop_assert_eq!(whole.text(), pieces.text());
            prop_assert!(pieces.kept() <= limit);
            prop_assert_eq!(pieces.kept() + pieces.left_out(), bytes.len());
        }
    }
}
