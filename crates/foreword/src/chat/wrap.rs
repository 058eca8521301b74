//! Wraps streamed text between words at the terminal's width. Code blocks keep their lines, so that they can be copied.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The delimiter of code blocks.
const FENCE: &str = "```";

/// The state of the current line.
#[derive(Debug, Default)]
pub(crate) struct Wrap {
    /// The columns used so far.
    column: usize,
    /// Spaces and a word that are not written yet, since the word may be incomplete.
    blanks: usize,
    word: String,
    /// Whether the line has no word so far.
    fresh: bool,
    in_code: bool,
}

impl Wrap {
    pub(crate) fn new() -> Self {
        Self { fresh: true, ..Self::default() }
    }

    /// The part of `text` that can be written now, wrapped at `width` columns.
    pub(crate) fn take(&mut self, text: &str, width: usize) -> String {
        let mut out = String::new();
        for c in text.chars() {
            match c {
                '\n' => {
                    self.end_word(&mut out, width);
                    out.push('\n');
                    (self.column, self.blanks, self.fresh) = (0, 0, true);
                }
                ' ' => {
                    self.end_word(&mut out, width);
                    self.blanks += 1;
                }
                c => {
                    self.word.push(c);
                    // Wide characters need no space to break at, and a word as long as a line is not held back.
                    if c.width() == Some(2) || self.word.width() >= width {
                        self.end_word(&mut out, width);
                    }
                }
            }
        }
        out
    }

    /// Returns `text` unchanged, for output without wrapping.
    pub(crate) fn pass(&mut self, text: String) -> String {
        if let Some(last) = text.chars().last() {
            self.column = usize::from(last != '\n');
        }
        text
    }

    /// The text held back. The line is not ended.
    pub(crate) fn flush(&mut self, width: usize) -> String {
        let mut out = String::new();
        self.end_word(&mut out, width);
        out
    }

    pub(crate) fn is_at_line_start(&self) -> bool {
        self.column == 0 && self.word.is_empty()
    }

    /// Starts a new line after other output has ended this one.
    pub(crate) fn end_line(&mut self) {
        *self = Self { in_code: self.in_code, ..Self::new() };
    }

    fn end_word(&mut self, out: &mut String, width: usize) {
        if self.word.is_empty() {
            return;
        }
        if std::mem::take(&mut self.fresh) && self.word.starts_with(FENCE) {
            self.in_code = !self.in_code;
        }
        let columns = self.word.width();
        let fits = self.column + self.blanks + columns <= width;
        // Without a space there is nowhere to break: the terminal wraps.
        if fits || self.in_code || self.column == 0 || self.blanks == 0 {
            out.extend(std::iter::repeat_n(' ', self.blanks));
            self.column += self.blanks;
        } else {
            out.push('\n');
            self.column = 0;
        }
        self.blanks = 0;
        out.push_str(&self.word);
        self.word.clear();
        self.column += columns;
        while self.column > width.max(1) {
            self.column -= width.max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wrapped(pieces: &[&str], width: usize) -> String {
        let mut wrap = Wrap::new();
        let mut out: String = pieces.iter().map(|piece| wrap.take(piece, width)).collect();
        out.push_str(&wrap.flush(width));
        out
    }

    #[test]
    fn lines_break_between_streamed_words() {
        let expected = "the ferry\nleaves at\nnoon";
        assert_eq!(wrapped(&["the ferry leaves at noon"], 10), expected);
        assert_eq!(wrapped(&["the fe", "rry l", "eaves", " ", "at noon"], 10), expected);
        assert_eq!(wrapped(&["ten column", "s"], 10), "ten\ncolumns");
        assert_eq!(wrapped(&["  - indented\n\nnext"], 40), "  - indented\n\nnext");
    }

    #[test]
    fn text_without_spaces_is_not_wrapped() {
        let address = "https://example.org/a/long/address";
        assert_eq!(wrapped(&["see ", address, " now"], 10), format!("see\n{address} now"));
        assert_eq!(wrapped(&["船は正午に出る"], 8), "船は正午に出る");
    }

    #[test]
    fn code_keeps_its_lines() {
        let code = "```sh\necho one two three four\n```\n";
        assert_eq!(wrapped(&[code], 10), code);
        assert_eq!(wrapped(&[code, "one two three"], 10), format!("{code}one two\nthree"));
    }

    proptest! {
        #[test]
        fn wrapping_changes_only_whitespace(
            pieces in prop::collection::vec("[a-z \n`é船]{0,12}", 0..12),
            width in 4_usize..40,
        ) {
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let squeezed = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(squeezed(&wrapped(&pieces, width)), squeezed(&pieces.concat()));
        }
    }
}
