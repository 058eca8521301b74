//! Compares the counters with public tokenizers on the sample texts, as recorded in
//! `tests/fixtures/token_samples/truth.yaml`. See `docs/tokens.md`.

use serde::Deserialize;

use super::Tokenizer;

macro_rules! samples {
    ($($file:literal),* $(,)?) => {
        [$(($file, include_str!(concat!("../../tests/fixtures/token_samples/", $file)))),*]
    };
}

const SAMPLES: [(&str, &str); 18] = samples![
    "arabic.txt",
    "chinese.txt",
    "config.yaml",
    "emoji_chat.txt",
    "english_prose.txt",
    "french.txt",
    "german.txt",
    "hindi.txt",
    "japanese.txt",
    "markdown_instructions.md",
    "numbers_tables.txt",
    "python_code.py",
    "request.json",
    "russian.txt",
    "rust_code.rs.txt",
    "server.log",
    "urls_hex_base64.txt",
    "whitespace_indented.txt",
];

#[derive(Deserialize)]
struct Measurements {
    samples: Vec<Truth>,
}

#[derive(Deserialize)]
struct Truth {
    file: String,
    bytes: usize,
    o200k_base: usize,
    cl100k_base: usize,
    claude_public: usize,
    mistral_tekken: usize,
    qwen: usize,
    /// How many more tokens Claude's newer tokenizers produce for this kind of text, where published.
    claude_growth: Option<f64>,
}

impl Truth {
    fn largest(&self) -> usize {
        [self.o200k_base, self.cl100k_base, self.claude_public, self.mistral_tekken, self.qwen]
            .into_iter()
            .max()
            .unwrap()
    }
}

fn measured_samples() -> Vec<(Truth, &'static str)> {
    let measured: Measurements =
        serde_saphyr::from_str(include_str!("../../tests/fixtures/token_samples/truth.yaml")).unwrap();
    let names: Vec<&str> = measured.samples.iter().map(|truth| truth.file.as_str()).collect();
    assert_eq!(
        names,
        SAMPLES.map(|(file, _)| file),
        "every sample is measured, and every measurement has its text"
    );
    measured.samples.into_iter().zip(SAMPLES.map(|(_, text)| text)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "token counts of sample texts are small")]
fn ratio(estimate: usize, truth: usize) -> f64 {
    estimate as f64 / truth as f64
}

#[test]
fn samples_have_their_measured_sizes() {
    for (truth, text) in measured_samples() {
        assert_eq!(text.len(), truth.bytes, "{}: run measure.py again after changing it", truth.file);
    }
}

#[test]
fn openai_counters_are_exact() {
    for (truth, text) in measured_samples() {
        assert_eq!(Tokenizer::O200kBase.get().count(text), truth.o200k_base, "{}", truth.file);
        assert_eq!(Tokenizer::Cl100kBase.get().count(text), truth.cl100k_base, "{}", truth.file);
    }
}

#[test]
fn estimate_error_is_bounded_against_public_tokenizers() {
    for (truth, text) in measured_samples() {
        let off = ratio(Tokenizer::Estimate.get().count(text), truth.largest());
        println!("{:<26} {off:.2}", truth.file);
        assert!((0.90..=1.33).contains(&off), "{}: {off:.2} of the largest count", truth.file);
    }
}

#[test]
fn claude_estimate_is_at_most_a_tenth_too_low() {
    let mut compared = 0;
    for (truth, text) in measured_samples() {
        let Some(growth) = truth.claude_growth else { continue };
        let off = ratio(Tokenizer::EstimateClaude.get().count(text), truth.claude_public) / growth;
        println!("{:<26} {off:.2}", truth.file);
        assert!((0.90..=1.50).contains(&off), "{}: {off:.2} of what was published", truth.file);
        compared += 1;
    }
    assert!(compared >= 14, "most samples have a published growth");
}
