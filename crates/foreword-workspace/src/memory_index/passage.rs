//! A range of lines of a text, bounded in size, so that one note never fills the model's context window.

/// The maximum size of a passage in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// A range of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    /// The first line, from 1.
    pub from: usize,
    /// The number of lines. Default: all that follow.
    pub count: Option<usize>,
}

impl Lines {
    /// The whole text.
    pub const ALL: Self = Self { from: 1, count: None };
}

/// A range of lines from a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The lines, without the last line break.
    pub text: String,
    /// The first line, from 1.
    pub first: usize,
    /// The last line; `first - 1` if the passage is empty.
    pub last: usize,
    /// The number of lines in the text.
    pub of: usize,
    /// The next line, if the requested range exceeds the size limit.
    pub next: Option<usize>,
    /// Whether the last line is truncated, because it alone exceeds the size limit.
    pub cut: bool,
}

/// An invalid range of lines.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineRangeError {
    /// The range is empty or starts at line 0.
    #[error("line numbers start at 1, and at least one line is required")]
    None,
    /// The text has fewer lines.
    #[error("it ends with line {of}, so there is no line {from}")]
    Behind {
        /// The requested line.
        from: usize,
        /// The number of lines in the text.
        of: usize,
    },
}

impl Passage {
    /// Extracts the lines `wanted` from `text`.
    ///
    /// # Errors
    /// If the first line does not exist.
    ///
    /// ```
    /// use foreword_workspace::memory_index::{Lines, Passage};
    /// let passage = Passage::of("one\ntwo\nthree\n", Lines { from: 2, count: Some(9) }).unwrap();
    /// assert_eq!((passage.text.as_str(), passage.first, passage.last, passage.of), ("two\nthree", 2, 3, 3));
    /// ```
    pub fn of(text: &str, wanted: Lines) -> Result<Self, LineRangeError> {
        let Some(skipped) = wanted.from.checked_sub(1).filter(|_| wanted.count != Some(0)) else {
            return Err(LineRangeError::None);
        };
        let of = text.lines().count();
        if skipped > 0 && skipped >= of {
            return Err(LineRangeError::Behind { from: wanted.from, of });
        }
        let asked = wanted.count.unwrap_or(usize::MAX).min(of - skipped);
        let mut out = String::new();
        let mut given = 0;
        for line in text.lines().skip(skipped).take(asked) {
            if given > 0 && out.len() + line.len() >= MAX_BYTES {
                break;
            }
            if given > 0 {
                out.push('\n');
            }
            out.push_str(line);
            given += 1;
        }
        let cut = out.len() > MAX_BYTES;
        if cut {
            let end = (0..=MAX_BYTES).rev().find(|end| out.is_char_boundary(*end)).unwrap_or(0);
            out.truncate(end);
        }
        let next = (given < asked).then_some(wanted.from + given);
        Ok(Self { text: out, first: wanted.from, last: skipped + given, of, next, cut })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        text: &str,
        from: usize,
        count: Option<usize>,
        expected: Result<(&str, usize, usize), LineRangeError>,
    ) {
        let passage = Passage::of(text, Lines { from, count });
        let expected = expected.map(|(text, last, of)| (text.to_owned(), last, of));
        assert_eq!(passage.map(|passage| (passage.text, passage.last, passage.of)), expected);
    }

    #[test]
    fn passages_contain_the_requested_lines() {
        check("a\nb\nc", 1, None, Ok(("a\nb\nc", 3, 3)));
        check("a\nb\nc\n", 3, Some(1), Ok(("c", 3, 3)));
        check("a\n\nc\n", 2, Some(usize::MAX), Ok(("\nc", 3, 3)));
        check("", 1, None, Ok(("", 0, 0)));
        check("a", 2, None, Err(LineRangeError::Behind { from: 2, of: 1 }));
        check("a", usize::MAX, Some(usize::MAX), Err(LineRangeError::Behind { from: usize::MAX, of: 1 }));
        check("a", 0, None, Err(LineRangeError::None));
        check("a", 1, Some(0), Err(LineRangeError::None));
    }

    #[test]
    fn long_texts_are_read_in_consecutive_parts() {
        let text: String = (1..=20_000).map(|number| format!("line {number}\n")).collect();
        let (mut from, mut seen) = (Some(1), Vec::new());
        while let Some(start) = from {
            let passage = Passage::of(&text, Lines { from: start, count: None }).unwrap();
            assert!(passage.text.len() <= MAX_BYTES && !passage.cut);
            seen.extend(passage.text.lines().map(str::to_owned));
            from = passage.next;
        }
        assert!(seen.iter().map(String::as_str).eq(text.lines()));
    }

    #[test]
    fn overlong_lines_are_truncated_and_marked() {
        let passage = Passage::of(&format!("{}\nend", "ä".repeat(MAX_BYTES)), Lines::ALL).unwrap();
        assert!(passage.cut && passage.text.len() <= MAX_BYTES);
        assert_eq!(passage.next, Some(2));
    }
}
