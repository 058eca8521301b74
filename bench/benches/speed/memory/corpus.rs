//! Generated notes with a Zipf distribution of words: the nth word is 1/n as frequent as the first. Deterministic.

/// The vocabulary size.
const WORDS: usize = 40_000;
/// The number of words per note.
const LENGTH: usize = 80;

/// Notes and questions.
pub(crate) struct Corpus {
    /// Path and text of each.
    pub(crate) texts: Vec<(String, String)>,
}

impl Corpus {
    pub(crate) fn new(count: usize) -> Self {
        let mut chance = Chance(7);
        let texts = (0..count)
            .map(|number| {
                let words: Vec<String> = (0..LENGTH).map(|_| word(chance.rank())).collect();
                let lines: Vec<String> = words.chunks(12).map(|line| line.join(" ")).collect();
                (format!("shared/{number:06}.md"), lines.join("\n"))
            })
            .collect();
        Self { texts }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.texts.iter().map(|(_, text)| text.len()).sum()
    }

    /// Questions of one to five words, each from a note, so that word frequencies are realistic.
    pub(crate) fn questions(&self, count: usize) -> Vec<String> {
        let mut chance = Chance(11);
        (0..count)
            .map(|number| {
                let (_, text) = &self.texts[chance.below(self.texts.len())];
                let words: Vec<&str> = text.split_whitespace().collect();
                let chosen = (0..=number % 5).map(|_| words[chance.below(words.len())]);
                chosen.collect::<Vec<_>>().join(" ")
            })
            .collect()
    }
}

/// The word of a rank: letters that stemming does not change.
fn word(rank: usize) -> String {
    const SOUNDS: [&str; 20] = [
        "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "to", "vu", "wa", "xe",
        "yi", "zo", "qu",
    ];
    let mut out = String::from("w");
    let mut rest = rank + 1;
    while rest > 0 {
        out.push_str(SOUNDS[rest % SOUNDS.len()]);
        rest /= SOUNDS.len();
    }
    out
}

struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap_or(0)
    }

    /// A rank by Zipf's law: its logarithm is uniform.
    fn rank(&mut self) -> usize {
        let even = self.next() as f64 / u64::MAX as f64;
        (((WORDS as f64).ln() * even).exp() as usize).min(WORDS) - 1
    }
}
