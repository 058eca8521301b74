//! Cuts a Markdown text into pieces of about 40 to 120 words, by headings, paragraphs and list items, each with its
//! lines and the headings above it. Counts words; never looks at what they mean.

use std::ops::Range;
use std::sync::Arc;

use super::words::count_words;

/// From this many words on a heading starts a new piece; a shorter section stays with the next.
const SHORTEST: usize = 40;
/// From this many words on a paragraph or list item starts a new piece.
const FULL: usize = 60;
/// No piece has more words, unless a single line does.
const LONGEST: usize = 120;
/// Nor more bytes, so that a line without a space ends somewhere.
const MOST_BYTES: usize = 2_000;
/// What stands between the headings above a piece.
const BELOW: &str = " › ";

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Its bytes.
    pub(super) bytes: Range<usize>,
    /// Its first and last line, from 1.
    pub(super) lines: (usize, usize),
    /// The headings it stands under, its own included.
    pub(super) heading: Option<Arc<str>>,
}

/// The pieces of `text` from byte `from` on, which is the start of a line.
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
    /// The headings in force, outermost first, with their levels.
    above: Vec<(usize, String)>,
    trail: Option<Arc<str>>,
}

impl Cutter {
    fn heading(&mut self, level: usize, words: &str) {
        if self.words >= SHORTEST {
            self.close();
        }
        self.above.retain(|(other, _)| *other < level);
        self.above.push((level, words.to_owned()));
        let trail: Vec<&str> = self.above.iter().map(|(_, words)| words.as_str()).collect();
        self.trail = Some(trail.join(BELOW).into());
        self.after_blank = false;
    }

    fn block(&mut self) {
        if self.words >= FULL {
            self.close();
        }
        self.after_blank = false;
    }

    fn line(&mut self, text: &str, bytes: Range<usize>, number: usize) {
        let words = count_words(&text[bytes.clone()]);
        if words > LONGEST || bytes.len() > MOST_BYTES {
            self.close();
            for piece in pieces(&text[bytes.clone()]) {
                let bytes = bytes.start + piece.start..bytes.start + piece.end;
                self.done.push(Chunk { bytes, lines: (number, number), heading: self.trail.clone() });
            }
            return;
        }
        if self.words + words > LONGEST {
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

    /// What says nothing, such as a rule, is no piece.
    fn close(&mut self) {
        self.done.extend(self.open.take().filter(|_| self.words > 0));
        self.words = 0;
    }
}

/// A long line in pieces, cut at spaces where there are some.
fn pieces(line: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let (mut start, mut words, mut inside) = (0, 0, false);
    for (at, character) in line.char_indices() {
        let mut buffer = [0; 4];
        let counts = count_words(character.encode_utf8(&mut buffer)) > 0;
        let space = character.is_whitespace();
        if (space && words >= FULL) || words >= LONGEST || at - start >= MOST_BYTES {
            out.push(start..at);
            (start, words, inside) = (at, 0, false);
        }
        // A character that counts alone, as in Chinese, can't be told from the start of a word here; both count.
        words += usize::from(counts && (!inside || !character.is_ascii()));
        inside = counts;
    }
    if start < line.len() {
        out.push(start..line.len());
    }
    out
}

/// Level and words of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    let words = text.trim().trim_end_matches('#').trim_end();
    ((1..=6).contains(&level) && text.starts_with([' ', '\t']) && !words.is_empty()).then_some((level, words))
}

/// Whether a line begins an item of a list.
fn is_item(line: &str) -> bool {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = digits.len() < line.len() && (digits.starts_with(". ") || digits.starts_with(") "));
    numbered || ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> Vec<(usize, usize, String)> {
        let heading = |chunk: &Chunk| chunk.heading.as_deref().unwrap_or_default().to_owned();
        chunks(text, 0).iter().map(|chunk| (chunk.lines.0, chunk.lines.1, heading(chunk))).collect()
    }

    fn words(count: usize) -> String {
        vec!["word"; count].join(" ")
    }

    #[test]
    fn a_short_text_is_one_piece_under_its_first_heading() {
        let text = "# People\n\n- Carol: 3 May.\n- Bob: 9 June.\n\n## Pets\nPepper the cat.\n\n";
        assert_eq!(shown(text), [(1, 7, "People".to_owned())]);
    }

    #[test]
    fn a_heading_starts_a_piece_once_there_is_enough_before_it() {
        let text = format!("# A\n{}\n## B ##\n{}\n# C\n{}\n", words(50), words(50), words(5));
        assert_eq!(
            shown(&text),
            [(1, 2, "A".to_owned()), (3, 4, "A › B".to_owned()), (5, 6, "C".to_owned())]
        );
    }

    #[test]
    fn paragraphs_and_items_are_kept_whole() {
        let paragraphs = format!("{0}\n{0}\n\n{0}\n{0}\n", words(35));
        assert_eq!(shown(&paragraphs), [(1, 2, String::new()), (4, 5, String::new())]);
        let items = format!("- {0}\n- {0}\n- {0}\n- {0}\n", words(33));
        assert_eq!(shown(&items), [(1, 2, String::new()), (3, 4, String::new())]);
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_within_itself() {
        let text = format!("first\n{}\nlast", words(300));
        let found = chunks(&text, 0);
        assert!(found.iter().all(|chunk| count_words(&text[chunk.bytes.clone()]) <= LONGEST));
        assert_eq!((found[0].lines, found[1].lines, found.last().unwrap().lines), ((1, 1), (2, 2), (3, 3)));
        assert!(chunks(&"x".repeat(1 << 20), 0).iter().all(|chunk| chunk.bytes.len() <= MOST_BYTES));
    }

    #[test]
    fn a_comment_in_code_is_no_heading_and_a_rule_is_no_piece() {
        assert_eq!(shown("```sh\n# not a heading\n```\n"), [(1, 3, String::new())]);
        assert_eq!(shown("---\n\n***\n"), []);
        assert_eq!(shown("#tag is a word"), [(1, 1, String::new())]);
    }

    #[test]
    fn lines_count_from_the_start_of_the_file() {
        let text = "---\ndescription: x\n---\nbody\n";
        assert_eq!(chunks(text, 23)[0].lines, (4, 4));
    }

    proptest! {
        #[test]
        fn pieces_are_in_order_and_hold_every_word(text in "(\\PC{0,80}|#{1,3} \\w{1,9}|- \\w{1,9}|\n){0,60}") {
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
