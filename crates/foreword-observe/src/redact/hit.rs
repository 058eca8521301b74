//! A place in a text where a secret may stand, and what can be asked of the text around it. Whoever asks looks at a bounded
//! number of bytes, or masks what it has looked at: so a scan takes time in proportion to the text, whatever is in it.

use std::ops::Range;

/// How far somebody looks who does not know yet whether there is a secret.
pub(super) const LOOK: usize = 128;

/// Where an anchor was found.
#[derive(Debug)]
pub(super) struct Hit<'t> {
    pub(super) text: &'t str,
    /// The anchor.
    pub(super) at: Range<usize>,
    /// Where the last secret ended.
    pub(super) free_from: usize,
}

impl Hit<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// Whether no word reaches into the anchor from the left.
    pub(super) fn begins_word(&self) -> bool {
        begins_word(self.bytes(), self.at.start)
    }

    /// Where the bytes that `belongs` says yes to end, from `start` on.
    pub(super) fn run(&self, start: usize, belongs: impl Fn(u8) -> bool) -> usize {
        let rest = self.bytes().get(start..).unwrap_or_default();
        start + rest.iter().position(|byte| !belongs(*byte)).unwrap_or(rest.len())
    }

    /// The same, without looking at more than [`LOOK`] bytes.
    pub(super) fn short_run(&self, start: usize, belongs: impl Fn(u8) -> bool) -> usize {
        self.run_within(start, LOOK, belongs)
    }

    /// The same, without looking at more than `most` bytes.
    pub(super) fn run_within(&self, start: usize, most: usize, belongs: impl Fn(u8) -> bool) -> usize {
        let end = self.bytes().len().min(start.saturating_add(most));
        let rest = self.bytes().get(start..end).unwrap_or_default();
        start + rest.iter().position(|byte| !belongs(*byte)).unwrap_or(rest.len())
    }
}

/// Whether no word reaches over `at`. An escape that stands in front of it is no word: `\n`, `\u000a`, `%20`, a colour.
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

/// Whether a text has what made-up words have and ordinary ones have not: a digit, or capitals between small letters.
pub(super) fn looks_random(text: &[u8]) -> bool {
    let seen = &text[..text.len().min(LOOK)];
    let inner = seen.get(1..).unwrap_or_default();
    seen.iter().any(u8::is_ascii_digit)
        || (inner.iter().any(u8::is_ascii_uppercase) && seen.iter().any(u8::is_ascii_lowercase))
}

/// The longest piece of letters and digits that has a digit in it.
pub(super) fn longest_piece(text: &[u8]) -> usize {
    let seen = &text[..text.len().min(LOOK)];
    let pieces = seen.split(|byte| !byte.is_ascii_alphanumeric());
    pieces.filter(|piece| piece.iter().any(u8::is_ascii_digit)).map(<[u8]>::len).max().unwrap_or(0)
}
