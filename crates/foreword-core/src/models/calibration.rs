//! Corrects the estimate of a tokenizer that is not public by what the provider reports with each answer. Where it is kept
//! is not its business.

use foreword_prompt::tokens::Counter;
use serde::{Deserialize, Serialize};

use super::{Factor, ModelFacts};

/// How many answers are remembered: enough that four odd ones don't count, few enough that the rest is recent.
const REMEMBERED: usize = 9;
/// Requests below this tell more about what a provider adds around the text than about its tokenizer.
const LEAST_TOKENS: u64 = 500;

/// What has been learned about the estimate of one model's tokens: how the last answers compare, and their median.
/// An exact tokenizer is never corrected.
///
/// Always give it the estimate as it was counted, not as it was corrected.
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
    /// Who counts. What was learned about one counter says nothing about another.
    tokenizer: Counter,
    /// What holds until something has been learned.
    start: Factor,
    /// What the last answers reported, divided by the estimates; the latest at the end.
    ratios: Vec<Factor>,
}

impl Calibration {
    /// What is known of a model before any answer.
    #[must_use]
    pub fn of(facts: &ModelFacts) -> Self {
        let start = facts.calibration.as_ref().map_or(Factor::ONE, |known| known.factor);
        Self { tokenizer: facts.tokenizer, start, ratios: Vec::new() }
    }

    /// The same, with what had been learned before. If the model's tokens are counted by another counter by now, that
    /// was about something else and is forgotten.
    #[must_use]
    pub fn resumed(facts: &ModelFacts, learned: Self) -> Self {
        let fresh = Self::of(facts);
        if learned.tokenizer != fresh.tokenizer {
            return fresh;
        }
        let from = learned.ratios.len().saturating_sub(REMEMBERED);
        Self { ratios: learned.ratios[from..].to_vec(), ..fresh }
    }

    /// Takes in an answer: what its request was estimated at, and the tokens of it the provider reports in all, cached
    /// ones included.
    pub fn learn(&mut self, estimated: u64, reported: u64) {
        if self.tokenizer.is_exact() || estimated < LEAST_TOKENS || reported < LEAST_TOKENS {
            return;
        }
        if self.ratios.len() >= REMEMBERED {
            self.ratios.remove(0);
        }
        self.ratios.push(Factor::of(estimated, reported));
    }

    /// What an estimate is multiplied by now.
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

    /// `estimate`, corrected.
    #[must_use]
    pub fn apply(&self, estimate: usize) -> usize {
        self.factor().times(estimate)
    }

    /// Whether an answer has taught it anything.
    #[must_use]
    pub fn has_learned(&self) -> bool {
        !self.ratios.is_empty()
    }
}

#[cfg(test)]
mod tests;
