//! Decides the next step of a workflow run. A finished step is never repeated; an interrupted step with side effects
//! needs a decision by a person.

use std::fmt;

use foreword_prompt::text::ContentHash;

/// A step of the workflow definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedStep {
    /// The name.
    pub name: String,
    /// The hash of its definition.
    pub definition: ContentHash,
}

/// The record of a step of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRecord {
    /// The name.
    pub name: String,
    /// The hash of its definition when it was started, if known.
    pub definition: Option<ContentHash>,
    /// The state.
    pub state: StepState,
    /// The number of starts.
    pub attempts: u64,
    /// Whether it has side effects.
    pub side_effects: bool,
}

/// The state of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepState {
    /// Started; its end is unknown.
    Begun,
    /// Finished, or skipped by a person.
    Done,
    /// Failed.
    Failed,
}

/// What comes next in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// Run this step.
    Do {
        /// The index, from 0.
        index: usize,
        /// The number of the attempt.
        attempt: u64,
    },
    /// This step failed, so the run has failed.
    Failed {
        /// The index of the step.
        index: usize,
    },
    /// This step was interrupted and may have taken effect: the run cannot continue automatically.
    InDoubt {
        /// The index of the step.
        index: usize,
    },
    /// The current step is no longer in the workflow.
    Gone {
        /// The index of the step.
        index: usize,
    },
    /// All steps are finished.
    Finished,
}

/// What comes next, given the `steps` of the workflow and the `records` of started steps, in order.
///
/// ```
/// use foreword_core::workflow::{NextStep, PlannedStep, next};
/// use foreword_prompt::text::ContentHash;
/// let steps = [PlannedStep { name: "fetch".to_owned(), definition: ContentHash::of("fetch") }];
/// assert_eq!(next(&steps, &[]), NextStep::Do { index: 0, attempt: 1 });
/// ```
#[must_use]
pub fn next(steps: &[PlannedStep], records: &[StepRecord]) -> NextStep {
    let open = records.iter().enumerate().find(|(_, record)| record.state != StepState::Done);
    match open {
        Some((index, _)) if index >= steps.len() => NextStep::Gone { index },
        Some((index, record)) => match record.state {
            StepState::Failed => NextStep::Failed { index },
            StepState::Begun if record.side_effects => NextStep::InDoubt { index },
            StepState::Begun | StepState::Done => NextStep::Do { index, attempt: record.attempts },
        },
        None if records.len() < steps.len() => NextStep::Do { index: records.len(), attempt: 1 },
        None => NextStep::Finished,
    }
}

/// A finished step whose definition has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("step {number} (`{name}`) is done, but its definition in the file has changed")]
pub struct StepChanged {
    /// The number of the step, from 1.
    pub number: usize,
    /// Its name when it finished.
    pub name: String,
}

/// Checks that the definitions of finished steps are unchanged.
///
/// # Errors
/// The first changed step.
pub fn unchanged(steps: &[PlannedStep], records: &[StepRecord]) -> Result<(), StepChanged> {
    for (index, record) in records.iter().enumerate().filter(|(_, record)| record.state == StepState::Done) {
        let same = steps.get(index).is_some_and(|step| {
            step.name == record.name && record.definition.is_none_or(|then| then == step.definition)
        });
        if !same {
            return Err(StepChanged { number: index + 1, name: record.name.clone() });
        }
    }
    Ok(())
}

/// How to resume a failed run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resume {
    /// Repeat the failed step if that is safe.
    #[default]
    Plain,
    /// Repeat it in any case.
    Redo,
    /// Skip it.
    Skip,
}

/// The change that resumes a failed run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reopen {
    /// None: no step is open.
    AsItIs,
    /// Start the step with this number again.
    Again(u64),
    /// Mark the step with this number as finished, without a result.
    Without(u64),
}

/// The current step of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenStep {
    /// The number, from 1.
    pub number: u64,
    /// The name.
    pub name: String,
}

impl fmt::Display for OpenStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} (`{}`)", self.number, self.name)
    }
}

/// Why a run cannot be resumed that way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotResume {
    /// The step may have taken effect.
    #[error("{0} was interrupted and may have taken effect: check what it did, then repeat or skip it")]
    InDoubt(OpenStep),
    /// There is no failed step to skip.
    #[error("no step has failed, so there is none to skip")]
    NothingToSkip,
}

/// The interrupted step that may have taken effect, if it is the current one.
///
/// ```
/// use foreword_core::workflow::step_with_unknown_outcome;
/// assert_eq!(step_with_unknown_outcome(&[]), None);
/// ```
#[must_use]
pub fn step_with_unknown_outcome(records: &[StepRecord]) -> Option<OpenStep> {
    let (number, record) = (1_u64..).zip(records).find(|(_, record)| record.state != StepState::Done)?;
    let is_unknown = record.state == StepState::Begun && record.side_effects;
    is_unknown.then(|| OpenStep { number, name: record.name.clone() })
}

/// The change that resumes a run as requested.
///
/// # Errors
/// If a step may have taken effect and `how` does not say what to do, or there is nothing to skip.
pub fn reopen(records: &[StepRecord], how: Resume) -> Result<Reopen, CannotResume> {
    let mut numbered = (1_u64..).zip(records);
    let Some((number, _)) = numbered.find(|(_, record)| record.state != StepState::Done) else {
        return if how == Resume::Skip { Err(CannotResume::NothingToSkip) } else { Ok(Reopen::AsItIs) };
    };
    match (how, step_with_unknown_outcome(records)) {
        (Resume::Skip, _) => Ok(Reopen::Without(number)),
        (Resume::Plain, Some(open)) => Err(CannotResume::InDoubt(open)),
        (Resume::Plain | Resume::Redo, _) => Ok(Reopen::Again(number)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn steps(names: &[&str]) -> Vec<PlannedStep> {
        let step = |name: &&str| PlannedStep { name: (*name).to_owned(), definition: ContentHash::of(name) };
        names.iter().map(step).collect()
    }

    fn record(name: &str, state: StepState, side_effects: bool) -> StepRecord {
        let definition = Some(ContentHash::of(name));
        StepRecord { name: name.to_owned(), definition, state, attempts: 2, side_effects }
    }

    #[test]
    fn next_step_follows_from_the_records() {
        use StepState::{Begun, Done, Failed};
        let plan = steps(&["a", "b"]);
        for (records, expected) in [
            (vec![], NextStep::Do { index: 0, attempt: 1 }),
            (vec![record("a", Done, true)], NextStep::Do { index: 1, attempt: 1 }),
            (vec![record("a", Begun, false)], NextStep::Do { index: 0, attempt: 2 }),
            (vec![record("a", Begun, true)], NextStep::InDoubt { index: 0 }),
            (vec![record("a", Done, true), record("b", Failed, true)], NextStep::Failed { index: 1 }),
            (vec![record("a", Done, true), record("b", Done, false)], NextStep::Finished),
        ] {
            assert_eq!(next(&plan, &records), expected, "{records:?}");
        }
    }

    #[test]
    fn removed_steps_do_not_run() {
        use StepState::{Begun, Done, Failed};
        let plan = steps(&["a"]);
        for open in [record("b", Begun, false), record("b", Begun, true), record("b", Failed, false)] {
            let records = [record("a", Done, false), open];
            assert_eq!(next(&plan, &records), NextStep::Gone { index: 1 }, "{records:?}");
        }
        let skipped = [record("a", Done, false), record("b", Done, false)];
        assert_eq!(next(&plan, &skipped), NextStep::Finished);
    }

    #[test]
    fn interrupted_effects_need_a_decision() {
        use StepState::{Begun, Done, Failed};
        let doubt = [record("a", Done, false), record("b", Begun, true)];
        let open = OpenStep { number: 2, name: "b".to_owned() };
        assert_eq!(reopen(&doubt, Resume::Plain), Err(CannotResume::InDoubt(open)));
        assert_eq!(reopen(&doubt, Resume::Redo), Ok(Reopen::Again(2)));
        assert_eq!(reopen(&doubt, Resume::Skip), Ok(Reopen::Without(2)));
        let failed = [record("a", Failed, true)];
        assert_eq!(reopen(&failed, Resume::Plain), Ok(Reopen::Again(1)));
        let done = [record("a", Done, true)];
        assert_eq!(reopen(&done, Resume::Redo), Ok(Reopen::AsItIs));
        assert_eq!(reopen(&done, Resume::Skip), Err(CannotResume::NothingToSkip));
    }

    #[test]
    fn unfinished_steps_may_change() {
        let records = [record("a", StepState::Done, false), record("b", StepState::Failed, false)];
        assert_eq!(unchanged(&steps(&["a", "other", "more"]), &records), Ok(()));
        let changed = unchanged(&steps(&["other", "b"]), &records).unwrap_err();
        assert_eq!(changed.to_string(), "step 1 (`a`) is done, but its definition in the file has changed");
        assert!(unchanged(&[], &records).is_err());
    }

    fn any_records() -> impl Strategy<Value = Vec<StepRecord>> {
        let state = prop_oneof![
            3 => Just(StepState::Done),
            1 => Just(StepState::Begun),
            1 => Just(StepState::Failed),
        ];
        prop::collection::vec(
            (state, any::<bool>()).prop_map(|(state, effects)| record("x", state, effects)),
            0..6,
        )
    }

    proptest! {
        #[test]
        fn completed_steps_never_rerun_and_uncertain_ones_need_commands(records in any_records()) {
            let plan = steps(&["x"; 4]);
            if let NextStep::Do { index, .. } = next(&plan, &records) {
                prop_assert!(index < plan.len());
                let harmless = |record: &StepRecord| record.state == StepState::Begun && !record.side_effects;
                prop_assert!(records.get(index).is_none_or(harmless));
                prop_assert!(records[..index.min(records.len())].iter().all(|r| r.state == StepState::Done));
            }
        }
    }
}
