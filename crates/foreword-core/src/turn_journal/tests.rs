//! The rules of the journal.

use serde_json::json;

use super::*;
use crate::id::MessageId;
use crate::message::{ContentBlock, Usage};
use foreword_prompt::text::ContentHash;

fn call(id: &str) -> CallId {
    CallId::new(id).unwrap()
}

fn started(id: &str, side_effects: bool) -> JournalStep {
    JournalStep::ToolStarted { call: call(id), tool: "send_mail".to_owned(), side_effects }
}

fn finished(id: &str) -> JournalStep {
    JournalStep::ToolFinished(ToolResult { call: call(id), content: "sent".to_owned(), is_error: false })
}

fn answer() -> JournalStep {
    JournalStep::Call {
        model: "offline/echo".to_owned(),
        content: vec![ContentBlock::text("hello")],
        usage: Usage::default(),
    }
}

#[test]
fn turn_resumes_unless_effects_could_repeat() {
    let resume = |steps: &[JournalStep]| Journal::new(steps.to_vec()).after_crash(2, 3) == AfterCrash::Resume;
    assert!(resume(&[]));
    assert!(resume(&[answer()]));
    assert!(resume(&[started("c-1", false)]));
    assert!(resume(&[started("c-1", true), finished("c-1")]));
    assert!(!resume(&[started("c-1", true)]));
    assert!(!resume(&[started("c-1", true), finished("c-2")]));
    // Two at once, of which one has finished.
    assert!(!resume(&[started("c-1", true), started("c-2", true), finished("c-1")]));
    // The id of a finished call is reused.
    assert!(!resume(&[started("c-1", true), finished("c-1"), started("c-1", true)]));
    assert!(resume(&[started("c-1", true), finished("c-1"), started("c-1", true), finished("c-1")]));
}

#[test]
fn turn_with_too_many_attempts_is_reported() {
    let journal = Journal::new(vec![answer()]);
    assert_eq!(journal.after_crash(3, 3), AfterCrash::Resume);
    assert_eq!(journal.after_crash(4, 3), AfterCrash::Report(ReportReason::Attempts { attempts: 4 }));
}

#[test]
fn unknown_steps_prevent_a_resume() {
    let newer = json!({"kind": "delegated", "to": "bob"});
    let step: JournalStep = serde_json::from_value(newer.clone()).unwrap();
    assert_eq!(serde_json::to_value(&step).unwrap(), newer);
    // A known kind with an unknown form.
    let changed: JournalStep = serde_json::from_value(json!({"kind": "call", "models": ["a", "b"]})).unwrap();
    assert_eq!(changed.kind(), "call");
    for step in [step, changed] {
        let decision = Journal::new(vec![step]).after_crash(2, 3);
        assert!(matches!(decision, AfterCrash::Report(ReportReason::UnknownStep { .. })), "{decision:?}");
    }
}

#[test]
fn journal_steps_round_trip() {
    let message = MessageId::new("m-1").unwrap();
    let built = PromptBuilt {
        fingerprint: ContentHash::of("You are kind."),
        epoch: 2,
        layer_versions: [("persona".to_owned(), 7)].into(),
    };
    let steps = [
        JournalStep::Accepted { messages: vec![message.clone()] },
        JournalStep::PromptBuilt(built),
        answer(),
        started("c-1", true),
        finished("c-1"),
        JournalStep::Replied { messages: vec![message] },
    ];
    for step in steps {
        let stored = serde_json::to_value(&step).unwrap();
        assert_eq!(stored["kind"], step.kind());
        assert_eq!(serde_json::from_value::<JournalStep>(stored).unwrap(), step);
    }
}

#[test]
fn writing_a_step_is_idempotent() {
    let (a, b) = (started("c-1", true), finished("c-1"));
    assert_eq!(place_step(3, &a, 3, None), Ok(StepPlacement::Next));
    assert_eq!(place_step(2, &a, 3, Some(&a)), Ok(StepPlacement::Already));
    assert_eq!(place_step(2, &b, 3, Some(&a)), Err(StepRefused::Taken));
    assert_eq!(place_step(4, &a, 3, None), Err(StepRefused::Gap { next: 3 }));
    assert_eq!(place_step(0, &a, 3, None), Err(StepRefused::Gap { next: 3 }));
    let replied = JournalStep::Replied { messages: Vec::new() };
    assert!(matches!(place_step(3, &replied, 3, None), Err(StepRefused::NotByItself { .. })));
}

#[test]
fn result_of_a_call_is_the_last_one() {
    let later = ToolResult { call: call("c-1"), content: "again".to_owned(), is_error: true };
    let journal =
        Journal::new(vec![finished("c-1"), JournalStep::ToolFinished(later.clone()), finished("c-2")]);
    assert_eq!(journal.result_of(&call("c-1")), Some(&later));
    assert_eq!(journal.result_of(&call("c-3")), None);
    assert_eq!(journal.next_number(), 4);
}

#[test]
fn turn_states_round_trip() {
    for state in TurnState::ALL {
        assert_eq!(state.as_str().parse(), Ok(state));
    }
    assert!("asleep".parse::<TurnState>().is_err());
}
