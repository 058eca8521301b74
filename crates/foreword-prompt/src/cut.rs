//! Removes the middle of a text that does not fit, by whole lines if possible, and inserts a marker that says what is
//! missing and how to read it. Never splits a character.

use std::ops::RangeInclusive;

use crate::text::with_thousands;
use crate::tokens::TokenCounter;

/// The share of the kept text before the cut.
const HEAD_SHARE: (usize, usize) = (7, 10);
/// How many tokens above the minimum a cut at a line end may use.
const LINE_END_TOLERANCE: usize = 32;

/// The removed part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Cut {
    /// The first missing line, from 1; 0 if the cut is inside a line.
    pub first_line: usize,
    /// How many whole lines are missing.
    pub lines: usize,
    /// How many tokens the text had before.
    pub tokens_before: usize,
}

/// A shortened text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortened {
    /// The rest, with the marker.
    pub text: String,
    /// The removed part.
    pub cut: Cut,
}

/// The call that the marker suggests: `memory_get("path", from, lines)`.
#[derive(Debug, Clone, Copy)]
pub struct ReadWith<'a> {
    /// The path to pass.
    pub path: &'a str,
}

/// A text to shorten, with its limits.
#[derive(Clone, Copy)]
pub struct Shorten<'a> {
    /// The separator and heading, which are never cut.
    pub prefix: &'a str,
    /// The text.
    pub body: &'a str,
    /// The maximum tokens of prefix, text and marker together.
    pub limit: usize,
    /// The minimum tokens of prefix, text and marker together.
    pub least: usize,
    /// How the reader can read the rest, if possible.
    pub read_with: Option<ReadWith<'a>>,
    /// The token counter.
    pub counter: &'a dyn TokenCounter,
}

impl Shorten<'_> {
    /// The longest head and tail that fit, by lines if possible; `None` if not even the smallest form fits.
    #[must_use]
    pub fn head_tail(&self) -> Option<Shortened> {
        // The binary search can miss a form that fits, so the smallest form alone decides whether one exists.
        let lightest = self.lightest().filter(|short| self.weigh(short) <= self.limit)?;
        let fits = |short: &Shortened| self.weigh(short) <= self.limit;
        let enough = |short: &Shortened| self.weigh(short) >= self.least;
        let (lines, characters) = self.units();
        let by_lines = self.most_lines(&lines, fits).map(|kept| self.keep_lines(&lines, kept));
        let by_characters = || {
            let kept = self.most_characters(characters, fits)?;
            Some(self.keep_characters(characters, kept)).filter(enough)
        };
        Some(by_lines.filter(enough).or_else(by_characters).unwrap_or(lightest))
    }

    /// The shortest head and tail above the minimum, ignoring the limit; by lines if they are close to it. The marker
    /// alone if the minimum is 0; `None` if everything must be kept.
    #[must_use]
    pub fn shortest(&self) -> Option<Shortened> {
        let too_little = |short: &Shortened| self.weigh(short) < self.least;
        let near = |short: &Shortened| self.weigh(short) <= self.least + LINE_END_TOLERANCE;
        let (lines, _) = self.units();
        let by_lines = self.most_lines(&lines, too_little).filter(|kept| kept + 1 < lines.len());
        by_lines.map(|kept| self.keep_lines(&lines, kept + 1)).filter(near).or_else(|| self.lightest())
    }

    /// The head and tail with the fewest tokens above the minimum, ignoring the limit, possibly inside a line. `None`
    /// if everything must be kept.
    #[must_use]
    pub fn lightest(&self) -> Option<Shortened> {
        let too_little = |short: &Shortened| self.weigh(short) < self.least;
        let (lines, characters) = self.units();
        let kept = self.most_lines(&lines, too_little).map_or(1, |kept| kept + 1);
        let by_lines = (kept < lines.len()).then(|| self.keep_lines(&lines, kept));
        let kept = self.most_characters(characters, too_little).map_or(0, |kept| kept + 1);
        let by_characters = (kept < characters).then(|| self.keep_characters(characters, kept));
        by_characters.into_iter().chain(by_lines).min_by_key(|short| self.weigh(short))
    }

    /// The lines and the number of characters of the text.
    fn units(&self) -> (Vec<&str>, usize) {
        (self.body.split_inclusive('\n').collect(), self.body.chars().count())
    }

    fn most_lines(&self, lines: &[&str], holds: impl Fn(&Shortened) -> bool) -> Option<usize> {
        largest_that_fits(1..=lines.len().saturating_sub(1), |kept| holds(&self.keep_lines(lines, kept)))
    }

    /// For a text whose lines are too long to keep a single one.
    fn most_characters(&self, total: usize, holds: impl Fn(&Shortened) -> bool) -> Option<usize> {
        largest_that_fits(0..=total.saturating_sub(1), |kept| holds(&self.keep_characters(total, kept)))
    }

    fn keep_lines(&self, lines: &[&str], kept: usize) -> Shortened {
        let head = share_of_head(kept);
        let tail = kept - head;
        let missing = &lines[head..lines.len() - tail];
        let cut = self.cut(head + 1, missing.len());
        let tokens = self.counter.count(&missing.concat());
        let how = match self.read_with {
            Some(ReadWith { path }) => {
                format!("; read them with memory_get(\"{path}\", {}, {})", cut.first_line, cut.lines)
            }
            None => String::new(),
        };
        let unit = if cut.lines == 1 { "line" } else { "lines" };
        let marker = format!(
            "[… {} {unit} cut here, about {} tokens{how} …]\n",
            with_thousands(cut.lines),
            with_thousands(tokens)
        );
        let text = format!("{}{marker}{}", lines[..head].concat(), lines[lines.len() - tail..].concat());
        Shortened { text, cut }
    }

    fn keep_characters(&self, total: usize, kept: usize) -> Shortened {
        let head = share_of_head(kept);
        let tail = kept - head;
        let how = match self.read_with {
            Some(ReadWith { path }) => {
                format!("; read it with memory_get(\"{path}\", 1, {})", self.body.lines().count())
            }
            None => String::new(),
        };
        let marker = format!("[… {} characters cut here{how} …]", with_thousands(total - kept));
        let head_end = char_offset(self.body, head);
        let tail_start = char_offset(self.body, total - tail);
        let text = format!("{}{marker}{}", &self.body[..head_end], &self.body[tail_start..]);
        Shortened { text, cut: self.cut(0, 0) }
    }

    fn cut(&self, first_line: usize, lines: usize) -> Cut {
        Cut { first_line, lines, tokens_before: self.counter.count(&format!("{}{}", self.prefix, self.body)) }
    }

    fn weigh(&self, short: &Shortened) -> usize {
        self.counter.count(&format!("{}{}", self.prefix, short.text))
    }
}

fn share_of_head(kept: usize) -> usize {
    (kept * HEAD_SHARE.0).div_ceil(HEAD_SHARE.1)
}

fn char_offset(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(offset, _)| offset)
}

/// The largest number in the range that satisfies `fits`, by binary search; `None` if the smallest does not.
pub(crate) fn largest_that_fits(range: RangeInclusive<usize>, fits: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut low, mut high) = range.into_inner();
    if low > high || !fits(low) {
        return None;
    }
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Some(low)
}
