//! The rules of the journal, case by case.

use serde_json::json;

use super::*;
use crate::id::MessageId;
use crate::message::{ContentBlock, Usage};
use foreword_prompt::text::ContentHash;

fn call(id: &str) -> CallId {
    CallId::new(id).unwrap()
}

fn started(id: &str, side_effects: bool) -> Step {
    Step::ToolStarted { call: call(id), tool: "send_mail".to_owned(), side_effects }
}

fn finished(id: &str) -> Step {
    Step::ToolFinished(ToolResult { call: call(id), content: "sent".to_owned(), is_error: false })
}

fn answer() -> Step {
    Step::Call {
        model: "offline/echo".to_owned(),
        content: vec![ContentBlock::text("hello")],
        usage: Usage::default(),
    }
}

#[test]
fn a_turn_is_resumed_unless_something_could_happen_twice() {
    let resume = |steps: &[Step]| Journal::new(steps.to_vec()).after_crash(2, 3) == AfterCrash::Resume;
    assert!(resume(&[]));
    assert!(resume(&[answer()]));
    assert!(resume(&[started("c-1", false)]));
    assert!(resume(&[started("c-1", true), finished("c-1")]));
    assert!(!resume(&[started("c-1", true)]));
    assert!(!resume(&[started("c-1", true), finished("c-2")]));
    // Two at once, of which one has ended.
    assert!(!resume(&[started("c-1", true), started("c-2", true), finished("c-1")]));
    // The id of a call that has ended is used again.
    assert!(!resume(&[started("c-1", true), finished("c-1"), started("c-1", true)]));
    assert!(resume(&[started("c-1", true), finished("c-1"), started("c-1", true), finished("c-1")]));
}

#[test]
fn a_turn_that_was_begun_too_often_is_reported() {
    let journal = Journal::new(vec![answer()]);
    assert_eq!(journal.after_crash(3, 3), AfterCrash::Resume);
    assert_eq!(journal.after_crash(4, 3), AfterCrash::Report(WhyReported::Attempts { attempts: 4 }));
}

#[test]
fn a_step_nobody_knows_is_kept_and_stops_a_resume() {
    let newer = json!({"kind": "delegated", "to": "bob"});
    let step: Step = serde_json::from_value(newer.clone()).unwrap();
    assert_eq!(serde_json::to_value(&step).unwrap(), newer);
    // A known kind with a form that is not known.
    let changed: Step = serde_json::from_value(json!({"kind": "call", "models": ["a", "b"]})).unwrap();
    assert_eq!(changed.kind(), "call");
    for step in [step, changed] {
        let decision = Journal::new(vec![step]).after_crash(2, 3);
        assert!(matches!(decision, AfterCrash::Report(WhyReported::UnknownStep { .. })), "{decision:?}");
    }
}

#[test]
fn every_step_is_read_as_it_was_written() {
    let message = MessageId::new("m-1").unwrap();
    let built = PromptBuilt {
        fingerprint: ContentHash::of("You are kind."),
        epoch: 2,
        layer_versions: [("persona".to_owned(), 7)].into(),
    };
    let steps = [
        Step::Accepted { messages: vec![message.clone()] },
        Step::PromptBuilt(built),
        answer(),
        started("c-1", true),
        finished("c-1"),
        Step::Replied { messages: vec![message] },
    ];
    for step in steps {
        let stored = serde_json::to_value(&step).unwrap();
        assert_eq!(stored["kind"], step.kind());
        assert_eq!(serde_json::from_value::<Step>(stored).unwrap(), step);
    }
}

#[test]
fn a_step_goes_behind_the_last_one_and_the_same_one_again_is_harmless() {
    let (a, b) = (started("c-1", true), finished("c-1"));
    assert_eq!(place(3, &a, 3, None), Ok(Place::Next));
    assert_eq!(place(2, &a, 3, Some(&a)), Ok(Place::Already));
    assert_eq!(place(2, &b, 3, Some(&a)), Err(StepRefused::Taken));
    assert_eq!(place(4, &a, 3, None), Err(StepRefused::Gap { next: 3 }));
    assert_eq!(place(0, &a, 3, None), Err(StepRefused::Gap { next: 3 }));
    let replied = Step::Replied { messages: Vec::new() };
    assert!(matches!(place(3, &replied, 3, None), Err(StepRefused::NotByItself { .. })));
}

#[test]
fn the_result_of_a_call_is_the_last_one() {
    let later = ToolResult { call: call("c-1"), content: "again".to_owned(), is_error: true };
    let journal = Journal::new(vec![finished("c-1"), Step::ToolFinished(later.clone()), finished("c-2")]);
    assert_eq!(journal.result_of(&call("c-1")), Some(&later));
    assert_eq!(journal.result_of(&call("c-3")), None);
    assert_eq!(journal.next_number(), 4);
}

#[test]
fn every_state_is_read_as_it_is_written() {
    for state in TurnState::ALL {
        assert_eq!(state.as_str().parse(), Ok(state));
    }
    assert!("asleep".parse::<TurnState>().is_err());
}
