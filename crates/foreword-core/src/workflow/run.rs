//! What comes next in a run, given the steps of its workflow and how far each came. A step that is done is never done
//! again; one that may have changed the world and was cut off is left for somebody to look at.

use std::fmt;

use foreword_prompt::text::ContentHash;

/// A step as the workflow has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedStep {
    /// Its name.
    pub name: String,
    /// The hash of all it says.
    pub definition: ContentHash,
}

/// How far a step of a run came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRecord {
    /// Its name.
    pub name: String,
    /// The hash of all it said when it was begun, if that is known.
    pub definition: Option<ContentHash>,
    /// How far it came.
    pub state: StepState,
    /// How often it was begun anew; 1 the first time.
    pub attempts: u64,
    /// Whether doing it twice is not the same as doing it once.
    pub side_effects: bool,
}

/// How far a step came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepState {
    /// It was begun, and nothing is known of its end.
    Begun,
    /// It is done, or somebody has decided to go on without it.
    Done,
    /// It failed.
    Failed,
}

/// What comes next in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Do this step; the first is 0.
    Do {
        /// Which.
        index: usize,
        /// Which try of it.
        attempt: u64,
    },
    /// This step failed, so the run has failed.
    Failed {
        /// Which.
        index: usize,
    },
    /// This step was cut off and may have taken effect: the run can't go on by itself.
    InDoubt {
        /// Which.
        index: usize,
    },
    /// The run stands at this step, and the workflow has no such step any more.
    Gone {
        /// Which.
        index: usize,
    },
    /// All is done.
    Finished,
}

/// What comes next, given `steps` as the workflow has them and `records` of those that were begun, in order.
///
/// ```
/// use foreword_core::workflow::{Next, PlannedStep, next};
/// use foreword_prompt::text::ContentHash;
/// let steps = [PlannedStep { name: "fetch".to_owned(), definition: ContentHash::of("fetch") }];
/// assert_eq!(next(&steps, &[]), Next::Do { index: 0, attempt: 1 });
/// ```
#[must_use]
pub fn next(steps: &[PlannedStep], records: &[StepRecord]) -> Next {
    let open = records.iter().enumerate().find(|(_, record)| record.state != StepState::Done);
    match open {
        Some((index, _)) if index >= steps.len() => Next::Gone { index },
        Some((index, record)) => match record.state {
            StepState::Failed => Next::Failed { index },
            StepState::Begun if record.side_effects => Next::InDoubt { index },
            StepState::Begun | StepState::Done => Next::Do { index, attempt: record.attempts },
        },
        None if records.len() < steps.len() => Next::Do { index: records.len(), attempt: 1 },
        None => Next::Finished,
    }
}

/// A step that was done reads differently by now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("step {number} (`{name}`) is done, and the file says something else there by now")]
pub struct Changed {
    /// Its number; the first is 1.
    pub number: usize,
    /// Its name when it was done.
    pub name: String,
}

/// Makes sure that the steps that are done read as they did then.
///
/// # Errors
/// The first that does not.
pub fn unchanged(steps: &[PlannedStep], records: &[StepRecord]) -> Result<(), Changed> {
    for (index, record) in records.iter().enumerate().filter(|(_, record)| record.state == StepState::Done) {
        let same = steps.get(index).is_some_and(|step| {
            step.name == record.name && record.definition.is_none_or(|then| then == step.definition)
        });
        if !same {
            return Err(Changed { number: index + 1, name: record.name.clone() });
        }
    }
    Ok(())
}

/// How somebody wants a run that failed to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resume {
    /// By doing the failed step again, if that is safe.
    #[default]
    Plain,
    /// By doing it again, whatever it may have done.
    Redo,
    /// Without it.
    Skip,
}

/// What to change before a failed run can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reopen {
    /// Nothing but the run itself: no step is open.
    AsItIs,
    /// The step with this number is begun anew.
    Again(u64),
    /// The step with this number counts as done, with nothing to show.
    Without(u64),
}

/// The step at which a run stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenStep {
    /// Its number; the first is 1.
    pub number: u64,
    /// Its name.
    pub name: String,
}

impl fmt::Display for OpenStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} (`{}`)", self.number, self.name)
    }
}

/// Why a run can't be resumed that way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotResume {
    /// The step may have taken effect.
    #[error("{0} was cut off and may have taken effect: see what it did, then do it again or skip it")]
    InDoubt(OpenStep),
    /// There is none to be skipped.
    #[error("no step has failed, so there is none to skip")]
    NothingToSkip,
}

/// The step that was cut off and may have taken effect, if the run stands at one.
///
/// ```
/// use foreword_core::workflow::in_doubt;
/// assert_eq!(in_doubt(&[]), None);
/// ```
#[must_use]
pub fn in_doubt(records: &[StepRecord]) -> Option<OpenStep> {
    let (number, record) = (1_u64..).zip(records).find(|(_, record)| record.state != StepState::Done)?;
    let in_doubt = record.state == StepState::Begun && record.side_effects;
    in_doubt.then(|| OpenStep { number, name: record.name.clone() })
}

/// What to change before a run that ended before its end can go on the way somebody wants.
///
/// # Errors
/// If a step may have taken effect and nobody has said what to do about it, or there is nothing to skip.
pub fn reopen(records: &[StepRecord], how: Resume) -> Result<Reopen, CannotResume> {
    let mut numbered = (1_u64..).zip(records);
    let Some((number, _)) = numbered.find(|(_, record)| record.state != StepState::Done) else {
        return if how == Resume::Skip { Err(CannotResume::NothingToSkip) } else { Ok(Reopen::AsItIs) };
    };
    match (how, in_doubt(records)) {
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
    fn what_comes_next_follows_from_how_far_each_step_came() {
        use StepState::{Begun, Done, Failed};
        let plan = steps(&["a", "b"]);
        for (records, expected) in [
            (vec![], Next::Do { index: 0, attempt: 1 }),
            (vec![record("a", Done, true)], Next::Do { index: 1, attempt: 1 }),
            (vec![record("a", Begun, false)], Next::Do { index: 0, attempt: 2 }),
            (vec![record("a", Begun, true)], Next::InDoubt { index: 0 }),
            (vec![record("a", Done, true), record("b", Failed, true)], Next::Failed { index: 1 }),
            (vec![record("a", Done, true), record("b", Done, false)], Next::Finished),
        ] {
            assert_eq!(next(&plan, &records), expected, "{records:?}");
        }
    }

    #[test]
    fn a_step_that_is_no_longer_in_the_file_is_not_done() {
        use StepState::{Begun, Done, Failed};
        let plan = steps(&["a"]);
        for open in [record("b", Begun, false), record("b", Begun, true), record("b", Failed, false)] {
            let records = [record("a", Done, false), open];
            assert_eq!(next(&plan, &records), Next::Gone { index: 1 }, "{records:?}");
        }
        let skipped = [record("a", Done, false), record("b", Done, false)];
        assert_eq!(next(&plan, &skipped), Next::Finished);
    }

    #[test]
    fn a_step_that_may_have_taken_effect_needs_a_word_before_it_is_done_again() {
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
    fn a_file_may_change_where_nothing_is_done_yet() {
        let records = [record("a", StepState::Done, false), record("b", StepState::Failed, false)];
        assert_eq!(unchanged(&steps(&["a", "other", "more"]), &records), Ok(()));
        let changed = unchanged(&steps(&["other", "b"]), &records).unwrap_err();
        assert_eq!(
            changed.to_string(),
            "step 1 (`a`) is done, and the file says something else there by now"
        );
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
        fn nothing_that_is_done_is_done_again_and_nothing_in_doubt_by_itself(records in any_records()) {
            let plan = steps(&["x"; 4]);
            if let Next::Do { index, .. } = next(&plan, &records) {
                prop_assert!(index < plan.len());
                let harmless = |record: &StepRecord| record.state == StepState::Begun && !record.side_effects;
                prop_assert!(records.get(index).is_none_or(harmless));
                prop_assert!(records[..index.min(records.len())].iter().all(|r| r.state == StepState::Done));
            }
        }
    }
}
