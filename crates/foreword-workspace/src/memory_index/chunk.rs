//! Splits Markdown into chunks of about 40 to 120 words, at headings, paragraphs and list items, each with its lines
//! and headings.

use std::ops::Range;
use std::sync::Arc;

use super::terms::count_words;

/// A heading starts a new chunk after this many words; a shorter section is merged with the next.
const MIN_SECTION_WORDS: usize = 40;
/// A paragraph or list item starts a new chunk after this many words.
const SPLIT_WORDS: usize = 60;
/// The maximum number of words in a chunk, unless a single line has more.
const MAX_WORDS: usize = 120;
/// The maximum number of bytes in a chunk, for lines without spaces.
const MAX_BYTES: usize = 2_000;
/// The separator of nested headings.
const HEADING_SEPARATOR: &str = " › ";

/// A chunk of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Its byte range.
    pub(super) bytes: Range<usize>,
    /// Its first and last line, from 1.
    pub(super) lines: (usize, usize),
    /// The enclosing headings, its own included.
    pub(super) heading: Option<Arc<str>>,
}

/// Splits `text` from byte `from` on, which must be the start of a line.
pub(super) fn chunks(text: &str, from: usize) -> Vec<Chunk> {
    let mut cutter = Cutter::default();
    let first_line = text[..from].matches('\n').count() + 1;
    let mut at = from;
    let mut fenced = false;
    for (number, line) in (first_line..).zip(text[from..].split_inclusive('\n')) {
        let bytes = at..at + line.trim_end().len();
        at += line.len();
        let start = line.trim_start();
        let fence = start.starts_with("```") || start.starts_with("~~~");
        fenced ^= fence;
        match heading(line).filter(|_| !fenced) {
            Some((level, words)) => cutter.heading(level, words),
            None if start.is_empty() => cutter.after_blank = true,
            None if is_item(start) || cutter.after_blank => cutter.block(),
            None => {}
        }
        if !start.is_empty() {
            cutter.line(text, bytes, number);
        }
    }
    cutter.close();
    cutter.done
}

#[derive(Default)]
struct Cutter {
    done: Vec<Chunk>,
    open: Option<Chunk>,
    words: usize,
    after_blank: bool,
    /// The current headings with their levels, outermost first.
    above: Vec<(usize, String)>,
    trail: Option<Arc<str>>,
}

impl Cutter {
    fn heading(&mut self, level: usize, words: &str) {
        if self.words >= MIN_SECTION_WORDS {
            self.close();
        }
        self.above.retain(|(other, _)| *other < level);
        self.above.push((level, words.to_owned()));
        let trail: Vec<&str> = self.above.iter().map(|(_, words)| words.as_str()).collect();
        self.trail = Some(trail.join(HEADING_SEPARATOR).into());
        self.after_blank = false;
    }

    fn block(&mut self) {
        if self.words >= SPLIT_WORDS {
            self.close();
        }
        self.after_blank = false;
    }

    fn line(&mut self, text: &str, bytes: Range<usize>, number: usize) {
        let words = count_words(&text[bytes.clone()]);
        if words > MAX_WORDS || bytes.len() > MAX_BYTES {
            self.close();
            for piece in pieces(&text[bytes.clone()]) {
                let bytes = bytes.start + piece.start..bytes.start + piece.end;
                self.done.push(Chunk { bytes, lines: (number, number), heading: self.trail.clone() });
            }
            return;
        }
        if self.words + words > MAX_WORDS {
            self.close();
        }
        self.words += words;
        match &mut self.open {
            Some(open) => {
                open.bytes.end = bytes.end;
                open.lines.1 = number;
            }
            None => self.open = Some(Chunk { bytes, lines: (number, number), heading: self.trail.clone() }),
        }
    }

    /// Text without words, such as a horizontal rule, is not a chunk.
    fn close(&mut self) {
        self.done.extend(self.open.take().filter(|_| self.words > 0));
        self.words = 0;
    }
}

/// Splits a long line, at spaces where possible.
fn pieces(line: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let (mut start, mut words, mut inside) = (0, 0, false);
    for (at, character) in line.char_indices() {
        let mut buffer = [0; 4];
        let counts = count_words(character.encode_utf8(&mut buffer)) > 0;
        let space = character.is_whitespace();
        if (space && words >= SPLIT_WORDS) || words >= MAX_WORDS || at - start >= MAX_BYTES {
            out.push(start..at);
            (start, words, inside) = (at, 0, false);
        }
        // Characters that are words of their own, as in Chinese, cannot be distinguished from the start of a word here;
        // both are counted.
        words += usize::from(counts && (!inside || !character.is_ascii()));
        inside = counts;
    }
    if start < line.len() {
        out.push(start..line.len());
    }
    out
}

/// The level and text of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    let words = text.trim().trim_end_matches('#').trim_end();
    ((1..=6).contains(&level) && text.starts_with([' ', '\t']) && !words.is_empty()).then_some((level, words))
}

/// Whether a line starts a list item.
fn is_item(line: &str) -> bool {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = digits.len() < line.len() && (digits.starts_with(". ") || digits.starts_with(") "));
    numbered || ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chunk_lines(text: &str) -> Vec<(usize, usize, String)> {
        let heading = |chunk: &Chunk| chunk.heading.as_deref().unwrap_or_default().to_owned();
        chunks(text, 0).iter().map(|chunk| (chunk.lines.0, chunk.lines.1, heading(chunk))).collect()
    }

    fn repeat_word(count: usize) -> String {
        vec!["word"; count].join(" ")
    }

    #[test]
    fn short_text_is_one_chunk_under_its_heading() {
        let text = "# People\n\n- Carol: 3 May.\n- Bob: 9 June.\n\n## Pets\nPepper the cat.\n\n";
        assert_eq!(chunk_lines(text), [(1, 7, "People".to_owned())]);
    }

    #[test]
    fn headings_split_only_after_enough_words() {
        let text =
            format!("# A\n{}\n## B ##\n{}\n# C\n{}\n", repeat_word(50), repeat_word(50), repeat_word(5));
        assert_eq!(
            chunk_lines(&text),
            [(1, 2, "A".to_owned()), (3, 4, "A › B".to_owned()), (5, 6, "C".to_owned())]
        );
    }

    #[test]
    fn paragraphs_and_items_are_kept_whole() {
        let paragraphs = format!("{0}\n{0}\n\n{0}\n{0}\n", repeat_word(35));
        assert_eq!(chunk_lines(&paragraphs), [(1, 2, String::new()), (4, 5, String::new())]);
        let items = format!("- {0}\n- {0}\n- {0}\n- {0}\n", repeat_word(33));
        assert_eq!(chunk_lines(&items), [(1, 2, String::new()), (3, 4, String::new())]);
    }

    #[test]
    fn overlong_lines_are_split() {
        let text = format!("first\n{}\nlast", repeat_word(300));
        let found = chunks(&text, 0);
        assert!(found.iter().all(|chunk| count_words(&text[chunk.bytes.clone()]) <= MAX_WORDS));
        assert_eq!((found[0].lines, found[1].lines, found.last().unwrap().lines), ((1, 1), (2, 2), (3, 3)));
        assert!(chunks(&"x".repeat(1 << 20), 0).iter().all(|chunk| chunk.bytes.len() <= MAX_BYTES));
    }

    #[test]
    fn code_comments_and_rules_are_not_headings() {
        assert_eq!(chunk_lines("```sh\n# not a heading\n```\n"), [(1, 3, String::new())]);
        assert_eq!(chunk_lines("---\n\n***\n"), []);
        assert_eq!(chunk_lines("#tag is a word"), [(1, 1, String::new())]);
    }

    #[test]
    fn lines_count_from_the_start_of_the_file() {
        let text = "---\ndescription: x\n---\nbody\n";
        assert_eq!(chunks(text, 23)[0].lines, (4, 4));
    }

    proptest! {
        #[test]
        fn chunks_are_ordered_and_contain_every_word(text in "(\\PC{0,80}|#{1,3} \\w{1,9}|- \\w{1,9}|\n){0,60}") {
            let mut end = 0;
            let mut held = 0;
            for chunk in chunks(&text, 0) {
                prop_assert!(chunk.bytes.start >= end && chunk.bytes.end <= text.len());
                prop_assert!(text[chunk.bytes.clone()].lines().count() <= chunk.lines.1 - chunk.lines.0 + 1);
                end = chunk.bytes.end;
                held += count_words(&text[chunk.bytes.clone()]);
            }
            prop_assert!(held >= count_words(&text), "{held} of {}", count_words(&text));
        }
    }
}
