//! The corpus in `tests/hostile/`: each text contains a canary word that the tests search for in every encoding.

use std::path::Path;

use serde::Deserialize;

/// A hostile text or name, with its canary in it.
#[derive(Debug, Clone)]
pub(crate) struct Hostile {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) canary: String,
}

#[derive(Deserialize)]
struct Text {
    name: String,
    text: String,
}

#[derive(Deserialize)]
struct Long {
    name: String,
    head: String,
    repeat: String,
    times: usize,
    tail: String,
}

/// All texts. Those of another `way` have other canaries.
pub(crate) fn texts(way: char) -> Vec<Hostile> {
    let long = read::<Long>("long.yaml").into_iter().map(|long| Text {
        text: format!("{}{}{}", long.head, long.repeat.repeat(long.times), long.tail),
        name: long.name,
    });
    planted(read::<Text>("texts.yaml").into_iter().chain(long), way)
}

/// All names. Those of another `way` have other canaries.
pub(crate) fn names(way: char) -> Vec<Hostile> {
    planted(read::<Text>("names.yaml").into_iter(), way)
}

fn read<T: for<'de> Deserialize<'de>>(file: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile").join(file);
    serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn planted(texts: impl Iterator<Item = Text>, way: char) -> Vec<Hostile> {
    let plant = |(number, text): (usize, Text)| {
        let letter = |number: usize| char::from(b'a' + u8::try_from(number % 26).unwrap());
        let canary = format!("quokka{way}{}{}", letter(number / 26), letter(number));
        let dressed = text.text.replace("{canary}", &canary);
        let dressed = dressed.replace("{split}", &spelled(&canary, |c| format!("{c}\u{200b}")));
        let dressed = dressed.replace("{wide}", &spelled(&canary, |c| shifted(c, 0xfee0)));
        let dressed = dressed.replace("{tags}", &spelled(&canary, |c| shifted(c, 0xe0000)));
        assert!(dressed.contains(&canary), "{} has no canary", text.name);
        Hostile { name: text.name, text: dressed, canary }
    };
    texts.enumerate().map(plant).collect()
}

fn spelled(word: &str, dress: impl Fn(char) -> String) -> String {
    word.chars().map(dress).collect()
}

fn shifted(letter: char, by: u32) -> String {
    char::from_u32(u32::from(letter) + by).unwrap().to_string()
}

/// A text reduced to its letters, so that a canary is found in whatever dress it is in.
pub(crate) fn folded(text: &str) -> String {
    let plain = |c: char| match u32::from(c) {
        wide @ 0xff01..=0xff5e => char::from_u32(wide - 0xfee0),
        tag @ 0xe0020..=0xe007e => char::from_u32(tag - 0xe0000),
        _ => Some(c),
    };
    let letters = text.chars().filter_map(plain).filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

/// Whether any canary at all is in `text`.
pub(crate) fn sings(text: &str) -> bool {
    folded(text).contains("quokka")
}

#[test]
fn canaries_are_unique_and_found_in_every_form() {
    let all: Vec<Hostile> = texts('a').into_iter().chain(names('b')).collect();
    for hostile in &all {
        assert!(folded(&hostile.text).contains(&hostile.canary), "{}", hostile.name);
    }
    for dress in
        ["q\u{200b}u\u{200b}okka", "ｑｕｏｋｋａ", "\u{e0071}\u{e0075}\u{e006f}\u{e006b}\u{e006b}\u{e0061}"]
    {
        assert!(sings(dress), "{dress:?}");
    }
    let mut canaries: Vec<&str> = all.iter().map(|hostile| hostile.canary.as_str()).collect();
    canaries.sort_unstable();
    canaries.dedup();
    assert_eq!(canaries.len(), all.len());
}
