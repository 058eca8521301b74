//! A candidate position in a text and helpers to examine the text around it. Each check examines a bounded number of
//! bytes, or masks what it has examined, so that the scan takes linear time.

use std::ops::Range;

/// The maximum number of bytes examined before a secret is confirmed.
pub(super) const MAX_LOOKAHEAD: usize = 128;

/// The position of an anchor.
#[derive(Debug)]
pub(super) struct Hit<'t> {
    pub(super) text: &'t str,
    /// The anchor.
    pub(super) at: Range<usize>,
    /// The end of the previous secret.
    pub(super) free_from: usize,
}

impl Hit<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// Whether the anchor is at the start of a word.
    pub(super) fn begins_word(&self) -> bool {
        begins_word(self.bytes(), self.at.start)
    }

    /// The end of the run of bytes from `start` that satisfy `belongs`.
    pub(super) fn run(&self, start: usize, belongs: impl Fn(u8) -> bool) -> usize {
        let rest = self.bytes().get(start..).unwrap_or_default();
        start + rest.iter().position(|byte| !belongs(*byte)).unwrap_or(rest.len())
    }

    /// The same, limited to [`MAX_LOOKAHEAD`] bytes.
    pub(super) fn short_run(&self, start: usize, belongs: impl Fn(u8) -> bool) -> usize {
        self.run_within(start, MAX_LOOKAHEAD, belongs)
    }

    /// The same, limited to `most` bytes.
    pub(super) fn run_within(&self, start: usize, most: usize, belongs: impl Fn(u8) -> bool) -> usize {
        let end = self.bytes().len().min(start.saturating_add(most));
        let rest = self.bytes().get(start..end).unwrap_or_default();
        start + rest.iter().position(|byte| !belongs(*byte)).unwrap_or(rest.len())
    }
}

/// Whether a word starts at `at`. A preceding escape is not part of a word: `\n`, `\u000a`, `%20`, a colour.
pub(super) fn begins_word(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(..at).unwrap_or_default();
    let Some(last) = before.last() else { return true };
    if !last.is_ascii_alphanumeric() {
        return true;
    }
    let back = |count: usize| before.len().checked_sub(count).and_then(|from| before.get(from..));
    let hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    let escape = |text: &[u8]| text[0] == b'\\' && matches!(text[1], b'n' | b'r' | b't' | b'b' | b'f');
    let percent = |text: &[u8]| text[0] == b'%' && hex(&text[1..]);
    let unicode = |text: &[u8]| text.starts_with(b"\\u") && hex(&text[2..]);
    let from = before.len().saturating_sub(12);
    let colour = || *last == b'm' && before[from..].windows(2).any(|pair| pair == b"\x1b[");
    back(2).is_some_and(escape) || back(3).is_some_and(percent) || back(6).is_some_and(unicode) || colour()
}

/// Whether a text looks random: it contains a digit, or capitals between small letters.
pub(super) fn looks_random(text: &[u8]) -> bool {
    let seen = &text[..text.len().min(MAX_LOOKAHEAD)];
    let inner = seen.get(1..).unwrap_or_default();
    seen.iter().any(u8::is_ascii_digit)
        || (inner.iter().any(u8::is_ascii_uppercase) && seen.iter().any(u8::is_ascii_lowercase))
}

/// The length of the longest alphanumeric run that contains a digit.
pub(super) fn longest_piece(text: &[u8]) -> usize {
    let seen = &text[..text.len().min(MAX_LOOKAHEAD)];
    let pieces = seen.split(|byte| !byte.is_ascii_alphanumeric());
    pieces.filter(|piece| piece.iter().any(u8::is_ascii_digit)).map(<[u8]>::len).max().unwrap_or(0)
}
