//! Some lines of a text, and how many there are in all. Bounded, so that one note never fills a model's window.

/// The most bytes handed out at once.
const MOST_BYTES: usize = 64 * 1024;

/// Which lines are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    /// The first, from 1.
    pub from: usize,
    /// How many; all that follow if it is not said.
    pub count: Option<usize>,
}

impl Lines {
    /// The whole text.
    pub const ALL: Self = Self { from: 1, count: None };
}

/// Some lines of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The lines as they stand there, the last without its line end.
    pub text: String,
    /// The first of them, from 1.
    pub first: usize,
    /// The last of them; one less than the first if there are none.
    pub last: usize,
    /// How many lines the text has.
    pub of: usize,
    /// The line to go on with, if more was asked for than is handed out at once.
    pub next: Option<usize>,
    /// Whether the last line is cut, because it alone is more than is handed out at once.
    pub cut: bool,
}

/// Why there are no such lines.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchLines {
    /// Lines count from 1, and at least one must be asked for.
    #[error("lines count from 1, and at least one must be asked for")]
    None,
    /// The text ends before.
    #[error("it ends with line {of}, so there is no line {from}")]
    Behind {
        /// The line asked for.
        from: usize,
        /// How many there are.
        of: usize,
    },
}

impl Passage {
    /// The lines `wanted` of `text`.
    ///
    /// # Errors
    /// If there is no such line.
    ///
    /// ```
    /// use foreword_workspace::memory_index::{Lines, Passage};
    /// let passage = Passage::of("one\ntwo\nthree\n", Lines { from: 2, count: Some(9) }).unwrap();
    /// assert_eq!((passage.text.as_str(), passage.first, passage.last, passage.of), ("two\nthree", 2, 3, 3));
    /// ```
    pub fn of(text: &str, wanted: Lines) -> Result<Self, NoSuchLines> {
        let Some(skipped) = wanted.from.checked_sub(1).filter(|_| wanted.count != Some(0)) else {
            return Err(NoSuchLines::None);
        };
        let of = text.lines().count();
        if skipped > 0 && skipped >= of {
            return Err(NoSuchLines::Behind { from: wanted.from, of });
        }
        let asked = wanted.count.unwrap_or(usize::MAX).min(of - skipped);
        let mut out = String::new();
        let mut given = 0;
        for line in text.lines().skip(skipped).take(asked) {
            if given > 0 && out.len() + line.len() >= MOST_BYTES {
                break;
            }
            if given > 0 {
                out.push('\n');
            }
            out.push_str(line);
            given += 1;
        }
        let cut = out.len() > MOST_BYTES;
        if cut {
            let end = (0..=MOST_BYTES).rev().find(|end| out.is_char_boundary(*end)).unwrap_or(0);
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
        expected: Result<(&str, usize, usize), NoSuchLines>,
    ) {
        let passage = Passage::of(text, Lines { from, count });
        let expected = expected.map(|(text, last, of)| (text.to_owned(), last, of));
        assert_eq!(passage.map(|passage| (passage.text, passage.last, passage.of)), expected);
    }

    #[test]
    fn lines_are_those_asked_for_as_far_as_there_are_any() {
        check("a\nb\nc", 1, None, Ok(("a\nb\nc", 3, 3)));
        check("a\nb\nc\n", 3, Some(1), Ok(("c", 3, 3)));
        check("a\n\nc\n", 2, Some(usize::MAX), Ok(("\nc", 3, 3)));
        check("", 1, None, Ok(("", 0, 0)));
        check("a", 2, None, Err(NoSuchLines::Behind { from: 2, of: 1 }));
        check("a", usize::MAX, Some(usize::MAX), Err(NoSuchLines::Behind { from: usize::MAX, of: 1 }));
        check("a", 0, None, Err(NoSuchLines::None));
        check("a", 1, Some(0), Err(NoSuchLines::None));
    }

    #[test]
    fn a_long_text_comes_in_parts_that_follow_each_other() {
        let text: String = (1..=20_000).map(|number| format!("line {number}\n")).collect();
        let (mut from, mut seen) = (Some(1), Vec::new());
        while let Some(start) = from {
            let passage = Passage::of(&text, Lines { from: start, count: None }).unwrap();
            assert!(passage.text.len() <= MOST_BYTES && !passage.cut);
            seen.extend(passage.text.lines().map(str::to_owned));
            from = passage.next;
        }
        assert!(seen.iter().map(String::as_str).eq(text.lines()));
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_and_says_so() {
        let passage = Passage::of(&format!("{}\nend", "ä".repeat(MOST_BYTES)), Lines::ALL).unwrap();
        assert!(passage.cut && passage.text.len() <= MOST_BYTES);
        assert_eq!(passage.next, Some(2));
    }
}
