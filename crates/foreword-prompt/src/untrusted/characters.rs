//! Invisible characters and how to handle them. Text from outside may hide words in invisible characters, or change the
//! order of what is shown. Independent of prompts, frames and names.

use std::iter::Peekable;
use std::str::CharIndices;

use unicode_normalization::UnicodeNormalization;

const ZERO_WIDTH_JOINER: char = '\u{200d}';
const TEXT_STYLE: char = '\u{fe0e}';
const EMOJI_STYLE: char = '\u{fe0f}';
const KEYCAP: char = '\u{20e3}';

/// How to handle one character of outside text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CharacterClass {
    /// Visible, or a tab.
    Keep,
    /// A line end of any kind. The `\r` of `\r\n` is [`CharacterClass::Hide`], so that each line ends once.
    EndLine,
    /// Invisible, or changes how its neighbours are shown.
    Hide,
}

/// The characters of `text` with their byte offsets and classes.
pub(super) fn classify(text: &str) -> ClassifiedChars<'_> {
    ClassifiedChars { rest: text.char_indices().peekable(), kept_before: None }
}

/// See [`classify`].
pub(super) struct ClassifiedChars<'a> {
    rest: Peekable<CharIndices<'a>>,
    /// The directly preceding character, if it was kept: joiners and selectors need one.
    kept_before: Option<char>,
}

impl Iterator for ClassifiedChars<'_> {
    type Item = (usize, char, CharacterClass);

    fn next(&mut self) -> Option<Self::Item> {
        let (offset, character) = self.rest.next()?;
        let next = self.rest.peek().map(|(_, next)| *next);
        let class = match character {
            '\r' if next == Some('\n') => CharacterClass::Hide,
            _ if ends_a_line(character) => CharacterClass::EndLine,
            _ if is_hidden(character) && !belongs_to_an_emoji(self.kept_before, character, next) => {
                CharacterClass::Hide
            }
            _ => CharacterClass::Keep,
        };
        self.kept_before = (class == CharacterClass::Keep).then_some(character);
        Some((offset, character, class))
    }
}

/// The text with hidden characters removed and `\n` line ends.
pub(super) fn visible_text(text: &str) -> String {
    classify(text)
        .filter_map(|(_, character, class)| match class {
            CharacterClass::Keep => Some(character),
            CharacterClass::EndLine => Some('\n'),
            CharacterClass::Hide => None,
        })
        .collect()
}

/// Whether `character` is invisible or affects how others are shown: control characters, format characters, and
/// Unicode's default ignorables. Tabs and line ends are not hidden.
///
/// Persian and some Indic scripts use zero-width joiners; they are removed there as well, because a channel for hidden
/// words is worse than a spelling that stays readable.
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
        // Noncharacters.
        '\u{fdd0}'..='\u{fdef}' => true,
        _ => u32::from(character) & 0xfffe == 0xfffe,
    }
}

/// Whether some reader or library treats `character` as a line end.
pub(super) fn ends_a_line(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether `character` is kept only with its right-hand neighbour. A truncated text must not end in one.
pub(super) fn needs_a_neighbour(character: char) -> bool {
    matches!(character, ZERO_WIDTH_JOINER | TEXT_STYLE | EMOJI_STYLE)
}

/// The plain form of a wide, small or styled `character` (`＃` is `#`), otherwise the character itself.
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

/// The character of `line` to escape so that the line is neither a heading nor a rule, nor the underline of a heading.
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

/// Emoji use one joiner between two pictographs, or one style selector on a pictograph or keycap. Longer sequences
/// could hide bytes.
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
    fn control_characters_are_removed_and_tabs_kept() {
        check("a\0b\u{7}c\u{1b}[31md\u{7f}e\u{9b}f\tg", "abc[31mdef\tg");
    }

    #[test]
    fn zero_width_and_direction_characters_are_removed() {
        check("a\u{200b}b\u{200c}c\u{2060}d\u{feff}e\u{ad}f", "abcdef");
        check("a\u{202e}b\u{202a}c\u{2066}d\u{2069}e\u{200e}f\u{61c}g", "abcdefg");
    }

    #[test]
    fn text_hidden_in_tag_characters_is_removed() {
        check("hi\u{e0001}\u{e0069}\u{e0067}\u{e007f}!", "hi!");
    }

    #[test]
    fn runs_of_variation_selectors_are_removed() {
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
    fn joiner_outside_emoji_is_removed() {
        check("i\u{200d}gnore", "ignore");
        check("😀\u{200d}x\u{200d}😀", "😀x😀");
        check("😀\u{200b}\u{200d}😀", "😀😀");
    }

    #[test]
    fn headings_rules_and_underlines_are_detected_in_all_forms() {
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
