//! Tokenises text into search terms. Different spellings of a word give the same term: compatibility forms are
//! normalised, case and accents are removed, and so are English plural and possessive endings. Scripts without spaces
//! between words are split into pairs of characters.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The maximum length of a term in bytes; longer words are truncated.
const MAX_TERM_BYTES: usize = 64;

/// Whether a text is indexed or searched for. In scripts without spaces, an indexed text also has its last character as
/// a term, so that a query of one character finds it; in a longer query that would be noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Stored,
    Asked,
}

/// Calls `found` with each term of `text`, in order, and the byte range of its word. A word may give no term, one or
/// several.
pub(super) fn each_term(text: &str, side: Side, mut found: impl FnMut(Range<usize>, &str)) {
    let mut scratch = String::new();
    let mut after_apostrophe = false;
    let mut at = 0;
    while let Some(word) = next_word(text, at) {
        // An apostrophe counts only directly after a word.
        after_apostrophe = after_apostrophe && word.start == at;
        let before_apostrophe = text[word.end..].chars().next().filter(|next| is_apostrophe(*next));
        let written = &text[word.clone()];
        at = word.end + before_apostrophe.map_or(0, char::len_utf8);
        if !is_left_out(written, after_apostrophe, before_apostrophe.is_some()) {
            terms_of_word(written, side, &mut scratch, |term| found(word.clone(), term));
        }
        after_apostrophe = before_apostrophe.is_some();
    }
}

/// The number of words in a text; a character of a script without spaces counts as one word.
pub(super) fn count_words(text: &str) -> usize {
    let mut words = 0;
    let mut inside = false;
    for character in text.chars() {
        let unspaced = !character.is_ascii() && is_unspaced(character);
        let part = is_part_of_word(character);
        words += usize::from(unspaced || (part && !inside));
        inside = part && !unspaced;
    }
    words
}

/// Whether a term is a single character of a script without spaces, which may occur anywhere in a pair.
pub(super) fn is_lone_character(term: &str) -> bool {
    let mut characters = term.chars();
    characters.next().is_some_and(is_unspaced) && characters.next().is_none()
}

fn next_word(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = text.get(from..)?;
    let start = from + rest.find(char::is_alphanumeric)?;
    let rest = &text[start..];
    let length = rest.find(|character| !is_part_of_word(character)).unwrap_or(rest.len());
    Some(start..start + length)
}

fn is_part_of_word(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphanumeric();
    }
    character.is_alphanumeric() || is_combining_mark(character) || is_hidden(character)
}

/// Whether the word is a part that an apostrophe separates: the `s` of `Carol's`, the `t` of `don't`, the `l` of
/// `l'été`.
fn is_left_out(word: &str, after_apostrophe: bool, before_apostrophe: bool) -> bool {
    let single = word.len() == 1;
    (after_apostrophe && (single || matches!(word, "ll" | "re" | "ve"))) || (before_apostrophe && single)
}

fn is_apostrophe(character: char) -> bool {
    matches!(character, '\'' | '’' | 'ʼ' | '＇')
}

fn terms_of_word(word: &str, side: Side, scratch: &mut String, mut found: impl FnMut(&str)) {
    scratch.clear();
    if word.is_ascii() {
        scratch.push_str(word);
        scratch.make_ascii_lowercase();
        return found(finish(scratch));
    }
    let lower = word.nfkd().flat_map(char::to_lowercase);
    let folded: String = lower.filter(|c| !is_accent(*c) && !is_hidden(*c)).nfc().collect();
    // Some characters decompose into several: `½` becomes 1, a slash and 2.
    for part in folded.split(|character| !is_part_of_word(character)) {
        let mut rest = part;
        while let Some(first) = rest.chars().next() {
            let unspaced = is_unspaced(first);
            let run =
                rest.find(|c| is_unspaced(c) != unspaced && !is_combining_mark(c)).unwrap_or(rest.len());
            let (head, tail) = rest.split_at(run);
            if unspaced {
                pairs(head, side, &mut found);
            } else {
                scratch.clear();
                scratch.extend(head.chars().flat_map(spelled_out).flatten());
                found(finish(scratch));
            }
            rest = tail;
        }
    }
}

/// Every pair of adjacent characters.
fn pairs(run: &str, side: Side, found: &mut impl FnMut(&str)) {
    let mut starts = run.char_indices().map(|(at, _)| at);
    let Some(mut first) = starts.next() else { return };
    let mut second = starts.next();
    let lone = second.is_none();
    while let Some(next) = second {
        let third = starts.next();
        found(&run[first..third.unwrap_or(run.len())]);
        (first, second) = (next, third);
    }
    if lone || side == Side::Stored {
        found(&run[first..]);
    }
}

/// The term for a case-folded word.
fn finish(word: &mut String) -> &str {
    if word.len() > MAX_TERM_BYTES {
        let end = (0..=MAX_TERM_BYTES).rev().find(|end| word.is_char_boundary(*end)).unwrap_or(0);
        word.truncate(end);
    }
    singular(word);
    word
}

/// Removes an English plural ending. A singular that looks like a plural is shortened in documents and queries alike.
fn singular(word: &mut String) {
    if word.len() < 4 || !word.is_ascii() || !word.ends_with('s') {
        return;
    }
    let length = word.len();
    if word.ends_with("ies") && length > 4 {
        word.truncate(length - 3);
        word.push('y');
    } else if ["sses", "shes", "ches", "xes"].iter().any(|ending| word.ends_with(ending)) {
        word.truncate(length - 2);
    } else if !["ss", "us", "is"].iter().any(|ending| word.ends_with(ending)) {
        word.truncate(length - 1);
    }
}

/// Letters without a Unicode decomposition, in their plain spelling.
fn spelled_out(letter: char) -> [Option<char>; 2] {
    match letter {
        'ß' => [Some('s'), Some('s')],
        'æ' => [Some('a'), Some('e')],
        'œ' => [Some('o'), Some('e')],
        'þ' => [Some('t'), Some('h')],
        'ø' => [Some('o'), None],
        'ł' => [Some('l'), None],
        'đ' | 'ð' => [Some('d'), None],
        'ħ' => [Some('h'), None],
        'ı' => [Some('i'), None],
        'ς' => [Some('σ'), None],
        other => [Some(other), None],
    }
}

/// Marks that people omit when they search. The vowel signs of Indic scripts are not included: without them the words
/// would differ.
fn is_accent(character: char) -> bool {
    matches!(character,
        '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{670}'
        | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Invisible characters, which would prevent a match.
fn is_hidden(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e01ef}')
}

/// Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese; and Korean, whose particles are
/// attached to words.
fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3100}'..='\u{318f}'
        | '\u{31a0}'..='\u{31bf}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{9fff}' | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str, side: Side) -> String {
        let mut out = Vec::new();
        each_term(text, side, |_, term| out.push(term.to_owned()));
        out.join(" ")
    }

    fn check(text: &str, expected: &str) {
        assert_eq!(terms(text, Side::Stored), expected, "{text:?}");
    }

    #[test]
    fn terms_ignore_case_accents_and_width() {
        check("Zoë's CAFÉ, Ａｌｉｃｅ & Łódź", "zoe cafe alice lodz");
        check("Straße Æsir Ørsted œuvre", "strasse aesir orsted oeuvre");
        check("car\u{200b}ol ca\u{301}fe \u{1d400}lice", "carol cafe alice");
        check("snake_case, kebab-case; a/b.md", "snake case kebab case a b md");
        check("½ cup", "1 2 cup");
    }

    #[test]
    fn plurals_and_possessives_match_the_singular() {
        check("Carol's birthdays", "carol birthday");
        check("the boys’ bicycles", "the boy bicycle");
        check("berries boxes matches glasses ties", "berry box match glass tie");
        check("bus glass Chris gas as", "bus glass chris gas as");
        check("don't we'll they've l'été O'Brien rock'n'roll", "don we they ete brien rock roll");
    }

    #[test]
    fn scripts_without_spaces_are_cut_into_pairs() {
        check("東京都", "東京 京都 都");
        assert_eq!(terms("東京都", Side::Asked), "東京 京都");
        check("猫", "猫");
        assert_eq!(terms("猫", Side::Asked), "猫");
        check("東京towers です", "東京 京 tower です す");
        check("ガキ ｶﾞｷ", "ガキ キ ガキ キ");
        check("한국어", "한국 국어 어");
        assert!(is_lone_character("猫") && !is_lone_character("猫が") && !is_lone_character("a"));
    }

    #[test]
    fn vowel_signs_stay_with_their_letters() {
        check("हिन्दी पानी", "हिन्दी पानी");
        assert_ne!(terms("पानी", Side::Stored), terms("पानि", Side::Stored));
    }

    #[test]
    fn long_words_are_truncated() {
        check(&"x".repeat(1 << 20), &"x".repeat(MAX_TERM_BYTES));
        check(&"ж".repeat(1 << 10), &"ж".repeat(MAX_TERM_BYTES / 2));
    }

    #[test]
    fn terms_have_the_range_of_their_word() {
        let text = "— Müller’s Öl";
        let mut words = Vec::new();
        each_term(text, Side::Stored, |range, _| words.push(&text[range]));
        assert_eq!(words, ["Müller", "Öl"]);
    }

    #[test]
    fn length_counts_words_or_unspaced_characters() {
        assert_eq!(count_words("one two  three—four"), 4);
        assert_eq!(count_words("東京 tower"), 3);
        assert_eq!(count_words(" \n --- "), 0);
    }
}
