//! The automaton of the estimates: byte classes, state transitions, and costs in hundredths of a token. The costs were
//! fitted to public tokenizers (docs/tokens.md). A change affects every count, so it needs a new version in the
//! counter's name.

/// Costs and follow-up states of the automaton, laid out for one look-up per byte.
pub(super) struct Table {
    /// The class of each byte.
    pub(super) classes: [u8; 256],
    /// For `row | class`: the row of the next state in the low bits, the cost in the high half.
    pub(super) steps: [u32; STATES_PADDED * CLASSES_PADDED],
}

/// The bits of a step that hold the next state's row.
pub(super) const ROW_MASK: u32 = ((STATES_PADDED - 1) * CLASSES_PADDED) as u32;

/// Both are powers of two, so that `row | class` is an index that can't be out of range.
const STATES_PADDED: usize = 64;
const CLASSES_PADDED: usize = 32;

/// Builds the table with the costs of Latin words and punctuation at `latin_percent`.
pub(super) const fn build(latin_percent: u32) -> Table {
    let mut table = Table { classes: [0; 256], steps: [0; STATES_PADDED * CLASSES_PADDED] };
    let mut byte = 0;
    while byte < 256 {
        table.classes[byte] = class_of(byte as u8) as u8;
        byte += 1;
    }
    let mut state = 0;
    while state < STATES {
        let mut class = 0;
        while class < ALL_CLASSES.len() {
            let (next, cost) = step(State::at(state), ALL_CLASSES[class]);
            let hundredths = match cost {
                Cost::Latin(hundredths) => hundredths * latin_percent / 100,
                Cost::Other(hundredths) => hundredths,
            };
            let index = state * CLASSES_PADDED + ALL_CLASSES[class] as usize;
            table.steps[index] = (next.index() * CLASSES_PADDED) as u32 | hundredths << 16;
            class += 1;
        }
        state += 1;
    }
    table
}

#[derive(Clone, Copy)]
#[repr(u8)]
enum Class {
    Lower,
    Upper,
    Digit,
    Space,
    LineFeed,
    Tab,
    Punctuation,
    Control,
    /// A continuation byte; the first byte of the character has the cost.
    Continuation,
    /// Continuation bytes that identify Devanagari after [`Class::IndicLead`].
    DevanagariContinuation,
    /// `é`, `ß`, `ł`: letters of Latin words outside ASCII.
    Accent,
    IndicLead,
    // From here on, the first byte of a character of one group of scripts.
    LatinSigns,
    RareTwoByte,
    Greek,
    Cyrillic,
    HebrewArabic,
    RareThreeByte,
    Typography,
    Kana,
    Han,
    Hangul,
    WideForms,
    Emoji,
}

const ALL_CLASSES: [Class; 24] = [
    Class::Lower,
    Class::Upper,
    Class::Digit,
    Class::Space,
    Class::LineFeed,
    Class::Tab,
    Class::Punctuation,
    Class::Control,
    Class::Continuation,
    Class::DevanagariContinuation,
    Class::Accent,
    Class::IndicLead,
    Class::LatinSigns,
    Class::RareTwoByte,
    Class::Greek,
    Class::Cyrillic,
    Class::HebrewArabic,
    Class::RareThreeByte,
    Class::Typography,
    Class::Kana,
    Class::Han,
    Class::Hangul,
    Class::WideForms,
    Class::Emoji,
];

const fn class_of(byte: u8) -> Class {
    match byte {
        b'a'..=b'z' => Class::Lower,
        b'A'..=b'Z' => Class::Upper,
        b'0'..=b'9' => Class::Digit,
        b' ' => Class::Space,
        b'\n' | b'\r' => Class::LineFeed,
        b'\t' => Class::Tab,
        0x00..=0x1F | 0x7F => Class::Control,
        0x21..=0x7E => Class::Punctuation,
        0xA4 | 0xA5 => Class::DevanagariContinuation,
        0x80..=0xBF => Class::Continuation,
        0xC0..=0xC2 => Class::LatinSigns,
        0xC3..=0xC9 => Class::Accent,
        0xCA..=0xCC | 0xD4..=0xD5 => Class::RareTwoByte,
        0xCD..=0xCF => Class::Greek,
        0xD0..=0xD3 => Class::Cyrillic,
        0xD6..=0xDF => Class::HebrewArabic,
        0xE0 => Class::IndicLead,
        0xE1 => Class::RareThreeByte,
        0xE2 => Class::Typography,
        0xE3 => Class::Kana,
        0xE4..=0xE9 => Class::Han,
        0xEA..=0xED => Class::Hangul,
        0xEE..=0xEF => Class::WideForms,
        0xF0..=0xFF => Class::Emoji,
    }
}

/// The previous input, as far as it affects the cost of the next byte.
#[derive(Clone, Copy)]
enum State {
    /// Also the start of the text.
    LineStart,
    OneSpace,
    Spaces,
    Digits,
    Accent,
    Control,
    /// The first byte of an Indic or Thai character: the next byte determines which.
    IndicLead,
    Indic,
    /// In a Latin word, after this many letters (1 to 9, where 9 means 9 or more).
    Word(usize),
    /// After 1, 2, or 3 and more capitals.
    Capitals(usize),
    /// After 1, 2, or 3 and more punctuation marks.
    Punctuation(usize),
    /// After a character of the script class with this number.
    Script(usize),
}

const MAX_WORD_LEN: usize = 9;
const MAX_RUN_LEN: usize = 3;
const FIRST_SCRIPT: usize = Class::LatinSigns as usize;
const STATES: usize = 8 + MAX_WORD_LEN + 2 * MAX_RUN_LEN + ALL_CLASSES.len() - FIRST_SCRIPT;

impl State {
    const fn index(self) -> usize {
        match self {
            Self::LineStart => 0,
            Self::OneSpace => 1,
            Self::Spaces => 2,
            Self::Digits => 3,
            Self::Accent => 4,
            Self::Control => 5,
            Self::IndicLead => 6,
            Self::Indic => 7,
            Self::Word(letters) => 7 + letters,
            Self::Capitals(run) => 7 + MAX_WORD_LEN + run,
            Self::Punctuation(run) => 7 + MAX_WORD_LEN + MAX_RUN_LEN + run,
            Self::Script(class) => 8 + MAX_WORD_LEN + 2 * MAX_RUN_LEN + class - FIRST_SCRIPT,
        }
    }

    const fn at(index: usize) -> Self {
        match index {
            0 => Self::LineStart,
            1 => Self::OneSpace,
            2 => Self::Spaces,
            3 => Self::Digits,
            4 => Self::Accent,
            5 => Self::Control,
            6 => Self::IndicLead,
            7 => Self::Indic,
            8..=16 => Self::Word(index - 7),
            17..=19 => Self::Capitals(index - 16),
            20..=22 => Self::Punctuation(index - 19),
            _ => Self::Script(index - 23 + FIRST_SCRIPT),
        }
    }
}

/// Hundredths of a token.
#[derive(Clone, Copy)]
enum Cost {
    /// Latin words and punctuation, whose cost depends on the counter.
    Latin(u32),
    /// Everything else, on which the compared tokenizers agree.
    Other(u32),
}

use Cost::{Latin, Other};

const fn step(from: State, class: Class) -> (State, Cost) {
    match class {
        Class::Lower => lower(from),
        Class::Upper => upper(from),
        Class::Digit => (State::Digits, digit(from)),
        Class::Space => space(from),
        Class::LineFeed => {
            (State::LineStart, if matches!(from, State::LineStart) { Other(10) } else { Other(100) })
        }
        Class::Tab => (State::Spaces, if matches!(from, State::Spaces) { Other(10) } else { Other(70) }),
        Class::Punctuation => punctuation(from),
        Class::Control => (State::Control, Other(100)),
        Class::Accent => (State::Accent, Latin(200)),
        Class::IndicLead => (State::IndicLead, Other(0)),
        Class::Continuation | Class::DevanagariContinuation => continuation(from, class),
        script => {
            let again = matches!(from, State::Script(before) if before == script as usize);
            let (first, following) = script_costs(script);
            (State::Script(script as usize), Other(if again { following } else { first }))
        }
    }
}

/// A short word is one token; a longer one is more likely to be split. A preceding space is part of it.
const fn lower(from: State) -> (State, Cost) {
    match from {
        State::Word(letters) if letters >= MAX_WORD_LEN - 1 => (State::Word(MAX_WORD_LEN), Latin(40)),
        State::Word(letters) if letters >= 4 => (State::Word(letters + 1), Latin(25)),
        State::Word(letters) => (State::Word(letters + 1), Latin(2)),
        State::Capitals(1) => (State::Word(2), Latin(2)),
        State::Capitals(_) => (State::Word(2), Latin(90)),
        State::Accent => (State::Word(4), Latin(90)),
        State::LineStart => (State::Word(1), Latin(95)),
        State::OneSpace => (State::Word(1), Latin(100)),
        State::Spaces => (State::Word(1), Latin(80)),
        State::Punctuation(_) => (State::Word(1), Latin(105)),
        _ => (State::Word(1), Latin(70)),
    }
}

const fn upper(from: State) -> (State, Cost) {
    match from {
        State::Capitals(1) => (State::Capitals(2), Latin(55)),
        State::Capitals(_) => (State::Capitals(MAX_RUN_LEN), Latin(30)),
        State::Word(_) => (State::Capitals(1), Latin(135)),
        State::OneSpace => (State::Capitals(1), Latin(115)),
        State::Spaces => (State::Capitals(1), Latin(80)),
        State::Punctuation(_) => (State::Capitals(1), Latin(70)),
        _ => (State::Capitals(1), Latin(120)),
    }
}

/// Some tokenizers combine up to three digits, many take each digit alone, with the preceding space as one more.
const fn digit(from: State) -> Cost {
    match from {
        State::Digits => Other(100),
        State::OneSpace | State::Spaces => Other(200),
        _ => Other(130),
    }
}

/// One space belongs to the following word; a run of spaces is an indent, and cheap.
const fn space(from: State) -> (State, Cost) {
    match from {
        State::OneSpace => (State::Spaces, Other(10)),
        State::Spaces => (State::Spaces, Other(5)),
        _ => (State::OneSpace, Other(0)),
    }
}

const fn punctuation(from: State) -> (State, Cost) {
    match from {
        State::Punctuation(1) => (State::Punctuation(2), Latin(20)),
        State::Punctuation(_) => (State::Punctuation(MAX_RUN_LEN), Latin(15)),
        State::LineStart => (State::Punctuation(1), Latin(110)),
        State::OneSpace => (State::Punctuation(1), Latin(95)),
        State::Spaces => (State::Punctuation(1), Latin(80)),
        _ => (State::Punctuation(1), Latin(65)),
    }
}

const fn continuation(from: State, class: Class) -> (State, Cost) {
    match (from, class) {
        (State::IndicLead, Class::DevanagariContinuation) => (State::Indic, Other(143)),
        (State::IndicLead, _) => (State::Indic, Other(212)),
        _ => (from, Other(0)),
    }
}

/// The cost of a script's character: the first of a run, and each that follows.
const fn script_costs(script: Class) -> (u32, u32) {
    match script {
        Class::LatinSigns => (100, 100),
        Class::Greek => (220, 117),
        Class::Cyrillic => (75, 65),
        Class::HebrewArabic => (205, 92),
        Class::RareThreeByte => (200, 290),
        Class::Typography => (230, 300),
        Class::Kana => (190, 80),
        Class::Han => (65, 132),
        Class::Hangul => (100, 152),
        Class::WideForms => (300, 150),
        Class::Emoji => (330, 330),
        // Bounded by the bytes: a character outside of the vocabulary is split into bytes.
        _ => (300, 200),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_found_at_its_own_row() {
        for index in 0..STATES {
            assert_eq!(State::at(index).index(), index);
        }
    }

    #[test]
    fn every_line_feed_leads_back_to_the_start() {
        // Required for counting a long text in two parallel parts.
        let table = build(100);
        for state in 0..STATES {
            let entry = table.steps[state * CLASSES_PADDED + Class::LineFeed as usize];
            assert_eq!(entry & ROW_MASK, 0, "state {state}");
        }
    }
}
