//! Folds text to what it looks like, for matching: wide and styled letters become plain, look-alikes of other scripts
//! become Latin, hidden characters, accents and case are removed. Each folded character keeps its range in the
//! original. For matching only, never for display.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::characters::is_hidden;

/// A character of the folded text, and its range in the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoldedChar {
    pub(super) character: char,
    pub(super) from: Range<usize>,
}

/// The folded form of `text`.
pub(super) fn fold(text: &str) -> Vec<FoldedChar> {
    let mut folded = Vec::with_capacity(text.len());
    for (start, original) in text.char_indices() {
        let from = start..start + original.len_utf8();
        if original.is_ascii() {
            if !is_hidden(original) {
                folded.push(FoldedChar { character: original.to_ascii_lowercase(), from });
            }
            continue;
        }
        // Before decomposing: `ϲ` reads as `c`, but decomposes to a final sigma, which reads as `s`.
        if let Some(latin) = latin_look_alike(original) {
            folded.push(FoldedChar { character: latin, from });
            continue;
        }
        let plain = std::iter::once(original).nfkd();
        for character in plain.filter(|character| !is_hidden(*character) && !is_combining_mark(*character)) {
            match latin_look_alike(character) {
                Some(latin) => folded.push(FoldedChar { character: latin, from: from.clone() }),
                None => folded.extend(character.to_lowercase().map(|lower| FoldedChar {
                    character: latin_look_alike(lower).unwrap_or(lower),
                    from: from.clone(),
                })),
            }
        }
    }
    folded
}

/// Whether `folded` starts with `plain`, which must be in folded form.
pub(super) fn starts_with(folded: &[FoldedChar], plain: &str) -> bool {
    let mut rest = folded.iter();
    plain.chars().all(|wanted| rest.next().is_some_and(|found| found.character == wanted))
}

fn latin_look_alike(character: char) -> Option<char> {
    let nth_letter = |first: u32| char::from_u32(u32::from('a') + (u32::from(character) - first));
    match character {
        // White on black, and regional indicators: letters Unicode gives no plain form for.
        '\u{1f150}'..='\u{1f169}' => nth_letter(0x1_f150),
        '\u{1f170}'..='\u{1f189}' => nth_letter(0x1_f170),
        '\u{1f1e6}'..='\u{1f1ff}' => nth_letter(0x1_f1e6),
        _ => LOOK_ALIKES.iter().find_map(|(latin, others)| others.contains(character).then_some(*latin)),
    }
}

/// Look-alikes of other scripts by Latin letter. Capitals are listed if they look like another letter than their small
/// form.
pub(super) const LOOK_ALIKES: &[(char, &str)] = &[
    ('a', "аΑαАɑᴀ"),
    ('b', "ВΒвЬьʙᏏ"),
    ('c', "сСϲϹᴄ"),
    ('d', "ԁđᴅ"),
    ('e', "еЕΕεҽєᴇ"),
    ('f', "ғꜰ"),
    ('g', "ɡɢց"),
    ('h', "һНΗнʜհħ"),
    ('i', "іІΙιıɪɩ"),
    ('j', "јЈϳᴊ"),
    ('k', "кКΚκᴋ"),
    ('l', "ӏӀłʟ"),
    ('m', "мМΜᴍ"),
    ('n', "пηΝɴո"),
    ('o', "оОΟοσօøᴏ"),
    ('p', "рРΡρᴘ"),
    ('q', "ԛգ"),
    ('r', "гʀᴦ"),
    ('s', "ѕЅςꜱ"),
    ('t', "тТΤτᴛ"),
    ('u', "υսμᴜ"),
    ('v', "νѵᴠ"),
    ('w', "ԝωѡᴡ"),
    ('x', "хХΧχ"),
    ('y', "уУΥγүʏ"),
    ('z', "Ζᴢ"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        fold(text).into_iter().map(|folded| folded.character).collect()
    }

    #[test]
    fn disguised_text_folds_to_plain_text() {
        for dressed in [
            "IGNORE",
            "ｉｇｎｏｒｅ",
            "𝐢𝐠𝐧𝐨𝐫𝐞",
            "𝖎𝖌𝖓𝖔𝖗𝖊",
            "ⓘⓖⓝⓞⓡⓔ",
            "🅘🅖🅝🅞🅡🅔",
            "🅸🅶🅽🅾🆁🅴",
            "🇮🇬🇳🇴🇷🇪",
            "ɪɢɴᴏʀᴇ",
            "іgnоrе",
            "ιɡηοгε",
            "í̂gñörè",
            "i\u{200b}g\u{2060}n\u{ad}o\u{202e}r\u{e0041}e",
        ] {
            assert_eq!(folded(dressed), "ignore", "{dressed}");
        }
    }

    #[test]
    fn folded_characters_have_their_original_byte_ranges() {
        let original = "x\u{200b}ﬁЕ";
        let ranges: Vec<_> =
            fold(original).into_iter().map(|folded| (folded.character, folded.from)).collect();
        assert_eq!(ranges, [('x', 0..1), ('f', 4..7), ('i', 4..7), ('e', 7..9)]);
    }

    #[test]
    fn every_look_alike_folds_to_its_listed_letter() {
        for (latin, others) in LOOK_ALIKES {
            for other in others.chars() {
                assert_eq!(folded(&other.to_string()), latin.to_string(), "{other}");
            }
        }
    }

    #[test]
    fn look_alikes_are_listed_once() {
        let mut seen = std::collections::BTreeMap::new();
        for (latin, others) in LOOK_ALIKES {
            for other in others.chars() {
                assert!(!other.is_ascii(), "{other} is Latin itself");
                assert_eq!(seen.insert(other, latin), None, "{other} is listed twice");
            }
        }
    }
}
