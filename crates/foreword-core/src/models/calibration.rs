//! Corrects the token estimates for tokenizers that are not public, by the usage that providers report. Does not store
//! the result.

use foreword_prompt::tokens::Tokenizer;
use serde::{Deserialize, Serialize};

use super::{Factor, ModelFacts};

/// The number of samples: enough to ignore four outliers, few enough to stay recent.
const MAX_SAMPLES: usize = 9;
/// Smaller requests say more about the provider's overhead than about its tokenizer.
const MIN_TOKENS: u64 = 500;

/// The correction of one model's token estimates: the median of the recent ratios of reported to estimated tokens. An
/// exact tokenizer is never corrected.
///
/// Pass in uncorrected estimates.
///
/// ```
/// use foreword_core::models::{Calibration, ModelCatalog};
/// let catalog = ModelCatalog::builtin();
/// let facts = catalog.find("anthropic/claude-haiku-4-5").unwrap();
/// let mut calibration = Calibration::of(facts);
/// assert_eq!(calibration.apply(10_000), 10_000);
/// calibration.learn(8_000, 7_200);
/// assert_eq!(calibration.apply(10_000), 9_000);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibration {
    /// The token counter. Samples of one counter do not apply to another.
    tokenizer: Tokenizer,
    /// The factor before the first sample.
    start: Factor,
    /// Reported divided by estimated tokens, the latest at the end.
    ratios: Vec<Factor>,
}

impl Calibration {
    /// The initial calibration of a model.
    #[must_use]
    pub fn of(facts: &ModelFacts) -> Self {
        let start = facts.calibration.as_ref().map_or(Factor::ONE, |known| known.factor);
        Self { tokenizer: facts.tokenizer, start, ratios: Vec::new() }
    }

    /// Restores samples. They are discarded if the model now has another token counter.
    #[must_use]
    pub fn resumed(facts: &ModelFacts, learned: Self) -> Self {
        let fresh = Self::of(facts);
        if learned.tokenizer != fresh.tokenizer {
            return fresh;
        }
        let from = learned.ratios.len().saturating_sub(MAX_SAMPLES);
        Self { ratios: learned.ratios[from..].to_vec(), ..fresh }
    }

    /// Adds a sample: the estimated tokens of a request and all input tokens the provider reported, cached ones
    /// included.
    pub fn learn(&mut self, estimated: u64, reported: u64) {
        if self.tokenizer.is_exact() || estimated < MIN_TOKENS || reported < MIN_TOKENS {
            return;
        }
        if self.ratios.len() >= MAX_SAMPLES {
            self.ratios.remove(0);
        }
        self.ratios.push(Factor::of(estimated, reported));
    }

    /// The current correction factor.
    #[must_use]
    pub fn factor(&self) -> Factor {
        if self.tokenizer.is_exact() {
            return Factor::ONE;
        }
        let mut sorted = self.ratios.clone();
        sorted.sort_unstable();
        let middle = sorted.len() / 2;
        match (sorted.get(middle), sorted.len() % 2) {
            (None, _) => self.start,
            (Some(median), 1) => *median,
            (Some(above), _) => sorted[middle - 1].between(*above),
        }
    }

    /// The corrected estimate.
    #[must_use]
    pub fn apply(&self, estimate: usize) -> usize {
        self.factor().times(estimate)
    }

    /// Whether there are samples.
    #[must_use]
    pub fn has_learned(&self) -> bool {
        !self.ratios.is_empty()
    }
}

#[cfg(test)]
mod tests;
