//! Estimates for models without a public tokenizer: one pass over the bytes through a small automaton, each step of
//! which costs some hundredths of a token. Needs no vocabulary and no allocation. The automaton and its costs are in
//! `estimate_table`.

use super::estimate_table::{self, ROW_MASK, Table};
use super::{TokenCounter, Tokenizer};

/// Tuned to the largest of five public tokenizers.
pub(super) static GENERAL: Estimate =
    Estimate { counter: Tokenizer::Estimate, table: estimate_table::build(100) };

/// The same, with Latin words and punctuation cut finer, as Claude's tokenizers do from Opus 4.7 on: by 15 to 47 %
/// against the last one whose counts could be compared with a public vocabulary (docs/tokens.md has the sources).
pub(super) static CLAUDE: Estimate =
    Estimate { counter: Tokenizer::EstimateClaude, table: estimate_table::build(140) };

pub(super) struct Estimate {
    counter: Tokenizer,
    table: Table,
}

impl TokenCounter for Estimate {
    fn name(&self) -> &str {
        self.counter.as_str()
    }

    /// One unit is a hundredth of a token.
    fn units(&self, text: &str) -> u64 {
        // After a line feed the automaton is always in its start state, so a text can be split there and both parts
        // processed in parallel: the CPU then works on two chains of table look-ups instead of one.
        let (first, second) = cut_after_a_line(text.as_bytes());
        // A text that is not empty has at least one token. One with a line feed or a `-` costs more than a unit anyway.
        self.run(first, second).max(u64::from(!text.is_empty()))
    }

    fn tokens_of(&self, units: u64) -> usize {
        usize::try_from(units.div_ceil(100)).unwrap_or(usize::MAX)
    }
}

impl Estimate {
    /// The cost of both parts in hundredths of a token, each from the start state.
    fn run(&self, first: &[u8], second: &[u8]) -> u64 {
        let both = first.len().min(second.len());
        let (mut first_row, mut second_row) = (0, 0);
        let mut hundredths = 0_u64;
        for (&a, &b) in first[..both].iter().zip(&second[..both]) {
            let (next, cost) = self.step(first_row, a);
            first_row = next;
            hundredths += u64::from(cost);
            let (next, cost) = self.step(second_row, b);
            second_row = next;
            hundredths += u64::from(cost);
        }
        for (mut row, rest) in [(first_row, &first[both..]), (second_row, &second[both..])] {
            for &byte in rest {
                let (next, cost) = self.step(row, byte);
                row = next;
                hundredths += u64::from(cost);
            }
        }
        hundredths
    }

    #[inline]
    fn step(&self, row: usize, byte: u8) -> (usize, u32) {
        let entry = self.table.steps[row | usize::from(self.table.classes[usize::from(byte)])];
        ((entry & ROW_MASK) as usize, entry >> 16)
    }
}

/// Splits after the last line feed before the middle, if there is one in the second quarter of the text.
fn cut_after_a_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let middle = bytes.len() / 2;
    let quarter = bytes.len() / 4;
    match bytes[quarter..middle].iter().rposition(|byte| *byte == b'\n') {
        Some(at) => bytes.split_at(quarter + at + 1),
        None => (bytes, &[]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The maximum difference in cost of a word split at the seam.
    const SEAM: usize = 3;

    proptest! {
        #[test]
        fn split_counting_equals_whole_counting(text in "([a-zA-Z0-9 .,é日🙂]{0,12}\n){0,12}") {
            for estimate in [&GENERAL, &CLAUDE] {
                let (first, second) = cut_after_a_line(text.as_bytes());
                prop_assert_eq!(estimate.run(first, second), estimate.run(text.as_bytes(), &[]));
            }
        }

        #[test]
        fn estimate_is_at_most_four_tokens_per_character(text in any::<String>()) {
            for estimate in [&GENERAL, &CLAUDE] {
                let tokens = estimate.count(&text);
                prop_assert!(tokens <= 4 * text.chars().count() && (tokens >= 1) != text.is_empty());
            }
        }

        #[test]
        fn joined_texts_cost_no_more_than_separate_ones(a in any::<String>(), b in any::<String>()) {
            check_seam(&a, &b);
        }

        #[test]
        fn joined_words_cost_no_more_than_separate_ones(
            a in "[a-zA-Z0-9 \n.é]{0,24}", b in "[a-zA-Z0-9 \n.é]{0,24}"
        ) {
            check_seam(&a, &b);
        }
    }

    fn check_seam(a: &str, b: &str) {
        let joined = format!("{a}{b}");
        for estimate in [&GENERAL, &CLAUDE] {
            let whole = estimate.count(&joined);
            assert!(whole <= estimate.count(a) + estimate.count(b) + SEAM);
            assert!(whole >= estimate.count(a), "a longer text never counts less");
        }
    }
}
