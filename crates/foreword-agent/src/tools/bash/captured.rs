//! Captures a command's output in constant memory: its start and its end, and how much was omitted between them.

use std::collections::VecDeque;

use foreword_prompt::text::with_thousands;

/// Captured output.
#[derive(Debug)]
pub(super) struct Captured {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// The capacity of each half.
    half: usize,
    total: usize,
}

impl Captured {
    /// A capture of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        let half = (limit / 2).max(1);
        Self { head: Vec::new(), tail: VecDeque::new(), half, total: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len();
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(first);
        // Only the last bytes can be kept.
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// The total number of bytes.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// The number of bytes in the text. A character split by the cut is not included.
    pub(super) fn kept_bytes(&self) -> usize {
        if !self.is_cut() {
            return self.total;
        }
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        without_broken_end(&self.head).len() + without_broken_start(&tail).len()
    }

    /// The number of omitted bytes.
    pub(super) fn left_out(&self) -> usize {
        self.total - self.kept_bytes()
    }

    /// Whether the output exceeds the limit.
    fn is_cut(&self) -> bool {
        self.head.len() + self.tail.len() < self.total
    }

    /// The text, with a line about the omission. Invalid UTF-8 and NUL become `\u{fffd}`.
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
    // Stores refuse NUL, and models do not need it.
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
}

/// `bytes` without a partial character at the end.
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
    fn short_output_is_unchanged() {
        assert_eq!(captured(12, &[b"ab", b"cdefgh", b"ij\n"]).text(), "abcdefghij");
        assert_eq!(captured(12, &[]).text(), "");
    }

    #[test]
    fn long_output_is_truncated_in_the_middle() {
        let long = captured(8, &[b"0123456789", b"abcdef"]);
        assert_eq!(long.text(), "0123\n[8 bytes left out here]\ncdef");
        assert_eq!((long.total(), long.kept_bytes(), long.left_out()), (16, 8, 8));
    }

    #[test]
    fn truncation_respects_characters_and_escapes_invalid_bytes() {
        let text = captured(6, &["aéé".as_bytes(), "xxxxxxxx".as_bytes(), "éé".as_bytes()]).text();
        assert_eq!(text, "aé\n[12 bytes left out here]\né");
        let long = captured(6, &["aéé".as_bytes(), "xxxxxxxx".as_bytes(), "éé".as_bytes()]);
        assert_eq!((long.total(), long.kept_bytes(), long.left_out()), (17, 5, 12));
        assert_eq!(captured(20, &[b"a\0b\xff"]).text(), "a\u{fffd}b\u{fffd}");
    }

    proptest! {
        #[test]
        fn captured_output_does_not_depend_on_chunk_sizes(bytes in proptest::collection::vec(any::<u8>(), 0..200), limit in 2..50_usize, piece in 1..20_usize) {
            let whole = captured(limit, &[&bytes]);
            let pieces: Vec<&[u8]> = bytes.chunks(piece).collect();
            let pieces = captured(limit, &pieces);
            prop_assert_eq!(whole.text(), pieces.text());
            prop_assert!(pieces.kept_bytes() <= limit);
            prop_assert_eq!(pieces.kept_bytes() + pieces.left_out(), bytes.len());
        }
    }
}
