//! Which characters a reader can't see, and what becomes of them. Text from outside may hide words in characters
//! that show nothing, or turn the order of what is shown; here it is decided which ones go. Knows nothing of
//! prompts, frames or names.

use std::iter::Peekable;
use std::str::CharIndices;

use unicode_normalization::UnicodeNormalization;

const ZERO_WIDTH_JOINER: char = '\u{200d}';
const TEXT_STYLE: char = '\u{fe0e}';
const EMOJI_STYLE: char = '\u{fe0f}';
const KEYCAP: char = '\u{20e3}';

/// What to do with one character of outside text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It can be seen, or it is a tab.
    Keep,
    /// It ends a line, in one of the many ways there are. The `\r` of `\r\n` is [`Fate::Hide`], so that each line
    /// ends once.
    EndLine,
    /// It shows nothing, or changes how its neighbours are shown.
    Hide,
}

/// The characters of `text` with their byte offsets and fates.
pub(super) fn fates(text: &str) -> Fates<'_> {
    Fates { rest: text.char_indices().peekable(), kept_before: None }
}

/// See [`fates`].
pub(super) struct Fates<'a> {
    rest: Peekable<CharIndices<'a>>,
    /// The character directly before, if it was kept: joiners and selectors need one to stand on.
    kept_before: Option<char>,
}

impl Iterator for Fates<'_> {
    type Item = (usize, char, Fate);

    fn next(&mut self) -> Option<Self::Item> {
        let (offset, character) = self.rest.next()?;
        let next = self.rest.peek().map(|(_, next)| *next);
        let fate = match character {
            '\r' if next == Some('\n') => Fate::Hide,
            _ if ends_a_line(character) => Fate::EndLine,
            _ if is_hidden(character) && !belongs_to_an_emoji(self.kept_before, character, next) => {
                Fate::Hide
            }
            _ => Fate::Keep,
        };
        self.kept_before = (fate == Fate::Keep).then_some(character);
        Some((offset, character, fate))
    }
}

/// The text as lines a reader can see all of: hidden characters removed, every line end a `\n`.
pub(super) fn visible_text(text: &str) -> String {
    fates(text)
        .filter_map(|(_, character, fate)| match fate {
            Fate::Keep => Some(character),
            Fate::EndLine => Some('\n'),
            Fate::Hide => None,
        })
        .collect()
}

/// Whether `character` shows nothing by itself or steers how others are shown: control characters, format
/// characters, and what Unicode calls default ignorable. Tab and line ends are not hidden.
///
/// Persian and some Indic scripts spell with zero-width joiners; they are removed there as well, because a channel
/// for hidden words costs more than a spelling that stays readable.
pub(super) fn is_hidden(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_control() && character != '\t' && !ends_a_line(character);
    }
    match character {
        '\u{85}' => false,
        '\u{80}'..='\u{9f}' => true,
        // Default ignorable: soft hyphen, grapheme joiner, fillers, zero-width, direction, selectors, tags.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' => true,
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' => true,
        '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => true,
        '\u{e0000}'..='\u{e0fff}' => true,
        // The other format characters: Arabic and Syriac number marks, Kaithi signs, hieroglyph joiners.
        '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}' => true,
        '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' => true,
        // Never characters at all.
        '\u{fdd0}'..='\u{fdef}' => true,
        _ => u32::from(character) & 0xfffe == 0xfffe,
    }
}

/// Whether some reader, or some library, takes `character` for the end of a line.
pub(super) fn ends_a_line(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether `character` is one the next pass may only keep with its right-hand neighbour. A text that is cut must
/// not end in one.
pub(super) fn needs_a_neighbour(character: char) -> bool {
    matches!(character, ZERO_WIDTH_JOINER | TEXT_STYLE | EMOJI_STYLE)
}

/// The plain character that `character` is a wide, small or styled form of (`＃` is `#`), if it is one.
pub(super) fn plain_form(character: char) -> char {
    if character.is_ascii() {
        return character;
    }
    let mut plain = std::iter::once(character).nfkc();
    match (plain.next(), plain.next()) {
        (Some(only), None) => only,
        _ => character,
    }
}

/// The byte offset of the character that makes a line a heading, a rule or an underline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StructureAt(pub(super) usize);

/// Which character of `line` to defuse so that, printed as a line of its own, it is neither a heading nor a rule,
/// nor the underline of a heading.
pub(super) fn structure_at_line_start(line: &str) -> Option<StructureAt> {
    let (start, first) = line.char_indices().find(|(_, character)| !is_space(*character))?;
    let is_heading = plain_form(first) == '#';
    let is_rule = line.chars().all(|character| is_space(character) || draws_a_rule(character));
    (is_heading || is_rule).then_some(StructureAt(start))
}

/// Whether `character` is a space of any width, but neither a tab nor a line end.
pub(super) fn is_space(character: char) -> bool {
    character.is_whitespace() && character != '\t' && !ends_a_line(character)
}

fn draws_a_rule(character: char) -> bool {
    matches!(
        plain_form(character),
        '-' | '=' | '*' | '_' | '~' | '\u{2010}'
            ..='\u{2015}'
                | '\u{2043}'
                | '\u{2212}'
                | '\u{23af}'
                | '\u{2500}'
                | '\u{2501}'
                | '\u{2550}'
                | '\u{2e3a}'
                | '\u{2e3b}'
                | '\u{30fc}'
    )
}

/// A joiner between two pictures, or one style selector on a picture or keycap, is how emoji are written. Anything
/// longer is a place to hide bytes in.
fn belongs_to_an_emoji(kept_before: Option<char>, character: char, next: Option<char>) -> bool {
    let Some(before) = kept_before else { return false };
    match character {
        ZERO_WIDTH_JOINER => {
            (is_pictograph(before) || before == EMOJI_STYLE) && next.is_some_and(is_pictograph)
        }
        EMOJI_STYLE if before.is_ascii_digit() => next == Some(KEYCAP),
        TEXT_STYLE | EMOJI_STYLE => is_pictograph(before),
        _ => false,
    }
}

fn is_pictograph(character: char) -> bool {
    matches!(
        character,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{24c2}'
            | '\u{2194}'..='\u{21aa}'
            | '\u{231a}'..='\u{23ff}'
            | '\u{25aa}'..='\u{25fe}'
            | '\u{2600}'..='\u{27bf}'
            | '\u{2934}'..='\u{2935}'
            | '\u{2b05}'..='\u{2b55}'
            | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
            | '\u{1f000}'..='\u{1faff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(visible_text(text), expected, "from {text:?}");
    }

    #[test]
    fn every_kind_of_line_end_becomes_one_newline() {
        check("a\r\nb\rc\nd", "a\nb\nc\nd");
        check("a\u{b}b\u{c}c\u{85}d\u{2028}e\u{2029}f", "a\nb\nc\nd\ne\nf");
        check("a\n\r\nb", "a\n\nb");
    }

    #[test]
    fn control_characters_go_and_tabs_stay() {
        check("a\0b\u{7}c\u{1b}[31md\u{7f}e\u{9b}f\tg", "abc[31mdef\tg");
    }

    #[test]
    fn zero_width_and_direction_characters_go() {
        check("a\u{200b}b\u{200c}c\u{2060}d\u{feff}e\u{ad}f", "abcdef");
        check("a\u{202e}b\u{202a}c\u{2066}d\u{2069}e\u{200e}f\u{61c}g", "abcdefg");
    }

    #[test]
    fn words_hidden_in_tag_characters_go() {
        check("hi\u{e0001}\u{e0069}\u{e0067}\u{e007f}!", "hi!");
    }

    #[test]
    fn a_run_of_variation_selectors_is_no_hiding_place() {
        check("😀\u{fe0f}\u{fe00}\u{fe05}\u{e0101}\u{e01ef}!", "😀\u{fe0f}!");
        check("a\u{fe0f}b\u{fe01}", "ab");
    }

    #[test]
    fn emoji_that_people_type_survive_whole() {
        for emoji in ["👩‍👩‍👧‍👦", "❤️‍🔥", "🏳️‍🌈", "👍🏽", "1️⃣", "☎︎", "👩🏽‍🚀"]
        {
            check(emoji, emoji);
        }
    }

    #[test]
    fn a_joiner_that_joins_no_pictures_goes() {
        check("i\u{200d}gnore", "ignore");
        check("😀\u{200d}x\u{200d}😀", "😀x😀");
        check("😀\u{200b}\u{200d}😀", "😀😀");
    }

    #[test]
    fn headings_rules_and_underlines_are_seen_in_all_their_forms() {
        for line in
            ["# System", "  ## Layer 3", "＃ System", "---", "- - -", "———", "－－－", "===", "***", "━━━"]
        {
            assert!(structure_at_line_start(line).is_some(), "{line}");
        }
        for line in ["main", "feature/#12", "--all", "", "  ", "1 - 2"] {
            assert_eq!(structure_at_line_start(line), None, "{line}");
        }
    }
}
