//! Words that come a few letters at a time, broken between words where a terminal's line ends. What stands in a block of
//! code keeps its lines: it may be copied.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The mark around blocks of code.
const FENCE: &str = "```";

/// Lines of a terminal as they are filled.
#[derive(Debug, Default)]
pub(crate) struct Wrap {
    /// How many columns of the line are taken.
    column: usize,
    /// Blanks and a word that are not written yet: nobody knows how long the word will be.
    blanks: usize,
    word: String,
    /// Whether the first word of the line is still to come.
    fresh: bool,
    in_code: bool,
}

impl Wrap {
    pub(crate) fn new() -> Self {
        Self { fresh: true, ..Self::default() }
    }

    /// What of `text` can be written now on lines of `width` columns.
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
                    // Writing without blanks is not held back, nor is a word as long as a line.
                    if c.width() == Some(2) || self.word.width() >= width {
                        self.end_word(&mut out, width);
                    }
                }
            }
        }
        out
    }

    /// `text` as it is, for lines that have no end.
    pub(crate) fn pass(&mut self, text: String) -> String {
        if let Some(last) = text.chars().last() {
            self.column = usize::from(last != '\n');
        }
        text
    }

    /// What was held back. The line is not ended.
    pub(crate) fn flush(&mut self, width: usize) -> String {
        let mut out = String::new();
        self.end_word(&mut out, width);
        out
    }

    /// Whether nothing stands on the line.
    pub(crate) fn is_at_line_start(&self) -> bool {
        self.column == 0 && self.word.is_empty()
    }

    /// The line is ended by somebody else.
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
        // Without a blank there is no place to break: the terminal does what it can.
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
    fn lines_break_between_words_however_the_words_come() {
        let expected = "the ferry\nleaves at\nnoon";
        assert_eq!(wrapped(&["the ferry leaves at noon"], 10), expected);
        assert_eq!(wrapped(&["the fe", "rry l", "eaves", " ", "at noon"], 10), expected);
        assert_eq!(wrapped(&["ten column", "s"], 10), "ten\ncolumns");
        assert_eq!(wrapped(&["  - indented\n\nnext"], 40), "  - indented\n\nnext");
    }

    #[test]
    fn what_has_no_blanks_is_left_to_the_terminal() {
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
        fn nothing_is_lost_or_added_but_where_lines_break(
            pieces in prop::collection::vec("[a-z \n`é船]{0,12}", 0..12),
            width in 4_usize..40,
        ) {
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let squeezed = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(squeezed(&wrapped(&pieces, width)), squeezed(&pieces.concat()));
        }
    }
}
