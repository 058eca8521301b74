//! A run as it is stored: its occasion, and what each step gave. The taint of a run follows from these alone, so that a
//! run that is gone on with is as tainted as it was.

use foreword_core::message::Provenance;
use foreword_core::taint::{Taint, TaintSource};
use foreword_core::workflow::{StepRecord, StepState};
use foreword_prompt::untrusted::Origin;
use foreword_store::workflow_runs::WorkflowStep;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::inbound::{Occasion, Purpose};
use crate::saved::SavedOccasion;

/// What a run needs to be gone on with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SavedRun {
    pub(super) occasion: SavedOccasion,
    /// Chance that nobody outside can know, for the marks around text from outside: the same for a step that is begun
    /// again, so that what is said again is the same.
    secret: String,
}

impl SavedRun {
    pub(super) fn new(occasion: &Occasion, random: u128) -> Self {
        Self { occasion: occasion.into(), secret: format!("{random:032x}") }
    }

    pub(super) fn occasion(&self) -> Occasion {
        self.occasion.clone().into()
    }

    /// The bytes that mark text from outside in the prompt of a step.
    pub(super) fn marker(&self, number: usize, attempt: u64) -> [u8; 16] {
        let (number, attempt) = (number.to_string(), attempt.to_string());
        let hash = foreword_prompt::text::ContentHash::of_parts([self.secret.as_str(), &number, &attempt]);
        let digits = hash.to_string();
        let digits = digits.rsplit(':').next().unwrap_or_default();
        let half = digits.get(..32).and_then(|half| u128::from_str_radix(half, 16).ok());
        half.unwrap_or_default().to_be_bytes()
    }
}

/// What a step gave.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StepOutput {
    /// The words.
    pub text: String,
    /// The tool from outside that the words came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<String>,
    /// Whether text from outside was read to make them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
    /// Whether somebody has decided to go on without it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
}

impl StepOutput {
    /// What the step gave, if it is done.
    #[must_use]
    pub fn of(step: &WorkflowStep) -> Option<Self> {
        step.output.as_ref().map(|output| match output {
            Value::Object(_) => serde_json::from_value(output.clone()).unwrap_or_default(),
            other => Self { text: other.to_string(), ..Self::default() },
        })
    }

    pub(super) fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// How far a step came.
#[must_use]
pub fn step_state(step: &WorkflowStep) -> StepState {
    match (&step.output, step.ended_at) {
        (Some(_), Some(_)) => StepState::Done,
        (None, Some(_)) => StepState::Failed,
        (_, None) => StepState::Begun,
    }
}

/// The steps as `foreword_core::workflow` reads them.
pub(super) fn records(steps: &[WorkflowStep]) -> Vec<StepRecord> {
    let record = |step: &WorkflowStep| StepRecord {
        name: step.name.clone(),
        definition: step.definition,
        state: step_state(step),
        attempts: step.attempts,
        side_effects: step.side_effects,
    };
    steps.iter().map(record).collect()
}

/// What a run on `occasion` has read from outside once these steps are done.
pub(super) fn taint(occasion: &Occasion, steps: &[WorkflowStep]) -> Taint {
    let mut taint = Taint::Clean;
    if matches!(occasion.purpose, Purpose::Workflow { tainted: true, .. }) {
        taint.add(TaintSource::History);
    }
    for output in steps.iter().filter(|step| step_state(step) == StepState::Done).filter_map(StepOutput::of) {
        match output.outside {
            Some(tool) => taint.add(TaintSource::Outside(Origin::tool(&tool))),
            None if output.tainted => taint.add(TaintSource::History),
            None => {}
        }
    }
    taint
}

/// Where the words of a run come from, at worst.
pub(super) fn provenance(taint: &Taint, starter: Provenance) -> Provenance {
    if taint.is_tainted() { Provenance::Outside } else { starter }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_the_same_for_the_same_try_and_another_for_every_other() {
        let run = SavedRun::new(&Occasion::default(), 7);
        assert_eq!(run.marker(1, 1), run.marker(1, 1));
        let stored = serde_json::to_string(&run).unwrap();
        assert_eq!(serde_json::from_str::<SavedRun>(&stored).unwrap().marker(2, 1), run.marker(2, 1));
        let others =
            [run.marker(1, 2), run.marker(2, 1), SavedRun::new(&Occasion::default(), 8).marker(1, 1)];
        assert!(others.iter().all(|other| *other != run.marker(1, 1) && *other != [0; 16]));
    }
}
