//! Cuts the middle out of a text that does not fit, line by line where it can, and says in the text what is missing
//! and how to read it. Never splits a character.

use std::ops::RangeInclusive;

use crate::text::with_thousands;
use crate::tokens::TokenCounter;

/// How much of what is kept stands before the cut.
const HEAD_SHARE: (usize, usize) = (7, 10);
/// How far above the least that must stay whole lines may end, before a line is cut instead.
const NEAR: usize = 32;

/// What was cut out of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Cut {
    /// The first missing line, from 1; 0 if the cut is inside a line.
    pub first_line: usize,
    /// How many whole lines are missing.
    pub lines: usize,
    /// How many tokens the text had before.
    pub tokens_before: usize,
}

/// A text with its middle cut out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortened {
    /// What is left, with the marker.
    pub text: String,
    /// What is gone.
    pub cut: Cut,
}

/// What the marker may tell the reader to call: `memory_get("path", from, lines)`.
#[derive(Debug, Clone, Copy)]
pub struct ReadWith<'a> {
    /// The path to pass.
    pub path: &'a str,
}

/// What to shorten, for whom, and to what size.
#[derive(Clone, Copy)]
pub struct Shorten<'a> {
    /// What stands before the text and is never cut: separator and heading.
    pub prefix: &'a str,
    /// The text.
    pub body: &'a str,
    /// The most tokens prefix, text and marker may have together.
    pub limit: usize,
    /// The least tokens they must keep together.
    pub least: usize,
    /// How the reader gets at the rest, if there is a way.
    pub read_with: Option<ReadWith<'a>>,
    /// Who counts.
    pub counter: &'a dyn TokenCounter,
}

impl Shorten<'_> {
    /// The longest head and tail that fit, by lines if they can; `None` if not even the lightest fits.
    #[must_use]
    pub fn head_tail(&self) -> Option<Shortened> {
        // Halving can step over a form that fits, so whether there is one is asked of the lightest, and of nothing else:
        // a limit of what that weighs is enough, and any smaller one is not.
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

    /// The shortest head and tail that keep the least there must be, whatever the limit: by lines if they come near it.
    /// The marker alone where nothing has to be kept; `None` where everything has.
    #[must_use]
    pub fn shortest(&self) -> Option<Shortened> {
        let too_little = |short: &Shortened| self.weigh(short) < self.least;
        let near = |short: &Shortened| self.weigh(short) <= self.least + NEAR;
        let (lines, _) = self.units();
        let by_lines = self.most_lines(&lines, too_little).filter(|kept| kept + 1 < lines.len());
        by_lines.map(|kept| self.keep_lines(&lines, kept + 1)).filter(near).or_else(|| self.lightest())
    }

    /// The lightest head and tail that keep the least there must be, whatever the limit, and be it inside a line.
    /// `None` where everything has to be kept.
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

    /// The lines of the text, and how many characters it has.
    fn units(&self) -> (Vec<&str>, usize) {
        (self.body.split_inclusive('\n').collect(), self.body.chars().count())
    }

    fn most_lines(&self, lines: &[&str], holds: impl Fn(&Shortened) -> bool) -> Option<usize> {
        largest_that_fits(1..=lines.len().saturating_sub(1), |kept| holds(&self.keep_lines(lines, kept)))
    }

    /// For a text whose single lines are too long to keep even one.
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

/// The largest number of the range for which `fits` holds, found by halving; `None` if not even the smallest does.
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
