//! The stored form of a run: its occasion and the output of each step. The taint of a run is computed from these alone,
//! so that a resumed run has the same taint.

use foreword_core::message::Provenance;
use foreword_core::taint::{Taint, TaintSource};
use foreword_core::workflow::{StepRecord, StepState};
use foreword_prompt::untrusted::Origin;
use foreword_store::workflow_runs::WorkflowStepRecord;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conversation::inbound::{Purpose, TurnOrigin};
use crate::turn::saved_state::SavedOrigin;

/// The state that a run needs to be resumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SavedRun {
    pub(super) occasion: SavedOrigin,
    /// Random secret for the markers around untrusted text. Stored, so that a retried step sends the same bytes.
    secret: String,
}

impl SavedRun {
    pub(super) fn new(occasion: &TurnOrigin, random: u128) -> Self {
        Self { occasion: occasion.into(), secret: format!("{random:032x}") }
    }

    pub(super) fn occasion(&self) -> TurnOrigin {
        self.occasion.clone().into()
    }

    /// The marker of untrusted text in the prompt of a step.
    pub(super) fn marker(&self, number: usize, attempt: u64) -> [u8; 16] {
        let (number, attempt) = (number.to_string(), attempt.to_string());
        let hash = foreword_prompt::text::ContentHash::of_parts([self.secret.as_str(), &number, &attempt]);
        let digits = hash.to_string();
        let digits = digits.rsplit(':').next().unwrap_or_default();
        let half = digits.get(..32).and_then(|half| u128::from_str_radix(half, 16).ok());
        half.unwrap_or_default().to_be_bytes()
    }
}

/// The output of a step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StepOutput {
    pub text: String,
    /// The external tool that returned the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<String>,
    /// Whether untrusted text influenced it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
    /// Whether a user has skipped the step.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
}

impl StepOutput {
    /// The output of a step that is done.
    #[must_use]
    pub fn of(step: &WorkflowStepRecord) -> Option<Self> {
        step.output.as_ref().map(|output| match output {
            Value::Object(_) => serde_json::from_value(output.clone()).unwrap_or_default(),
            other => Self { text: other.to_string(), ..Self::default() },
        })
    }

    pub(super) fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The state of a step.
#[must_use]
pub fn step_state(step: &WorkflowStepRecord) -> StepState {
    match (&step.output, step.ended_at) {
        (Some(_), Some(_)) => StepState::Done,
        (None, Some(_)) => StepState::Failed,
        (_, None) => StepState::Begun,
    }
}

/// Converts the steps for `foreword_core::workflow`.
pub(super) fn records(steps: &[WorkflowStepRecord]) -> Vec<StepRecord> {
    let record = |step: &WorkflowStepRecord| StepRecord {
        name: step.name.clone(),
        definition: step.definition,
        state: step_state(step),
        attempts: step.attempts,
        side_effects: step.side_effects,
    };
    steps.iter().map(record).collect()
}

/// The taint of a run on `occasion` after these steps.
pub(super) fn taint(occasion: &TurnOrigin, steps: &[WorkflowStepRecord]) -> Taint {
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

/// The provenance of a run's text.
pub(super) fn provenance(taint: &Taint, starter: Provenance) -> Provenance {
    if taint.is_tainted() { Provenance::Outside } else { starter }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marker_depends_on_run_step_and_attempt() {
        let run = SavedRun::new(&TurnOrigin::default(), 7);
        assert_eq!(run.marker(1, 1), run.marker(1, 1));
        let stored = serde_json::to_string(&run).unwrap();
        assert_eq!(serde_json::from_str::<SavedRun>(&stored).unwrap().marker(2, 1), run.marker(2, 1));
        let others =
            [run.marker(1, 2), run.marker(2, 1), SavedRun::new(&TurnOrigin::default(), 8).marker(1, 1)];
        assert!(others.iter().all(|other| *other != run.marker(1, 1) && *other != [0; 16]));
    }
}
