//! Examples of turns.

use std::collections::BTreeMap;
use std::time::Duration;

use foreword_prompt::tool::{Parameter, ParameterKind, ToolSpec};
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::Origin;
use serde_json::json;

use super::*;
use crate::limits::TurnLimits;
use crate::message::ContentBlock;
use crate::model::{ErrorKind, StopReason};
use crate::retry::ErrorCategory;
use crate::turn_journal::Outcome;

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_micros(0).plus(Duration::from_secs(seconds))
}

fn rules(attendance: TurnAttendance) -> TurnRules {
    let rule = |name: &str, sensitive, most_per_turn| {
        let spec = ToolSpec::new(name, "Does it.", Trust::Full).with(Parameter::required(
            "what",
            ParameterKind::String,
            "What.",
        ));
        (name.to_owned(), ToolRule { spec, side_effects: sensitive, sensitive, most_per_turn })
    };
    let tools = [rule("look", false, None), rule("shell", true, None), rule("edit", true, Some(1))];
    TurnRules { tools: BTreeMap::from(tools).into(), attendance, ..TurnRules::default() }
}

fn begun(rules: TurnRules) -> Turn {
    let mut turn = Turn::new(rules, at(0));
    assert!(matches!(
        turn.step(at(0), Input::Begin),
        Step::CallModel(CallModel { round: 1, attempt: 0, .. })
    ));
    turn
}

fn call(turn: &mut Turn, id: &str, tool: &str) {
    let (id, name) = (CallId::new(id).unwrap(), tool.to_owned());
    let block = ContentBlock::ToolCall { id, name, input: json!({ "what": "it" }) };
    assert_eq!(turn.step(at(1), Input::Model(ModelEvent::Block(block))), Step::Wait(Wait::ForModel));
}

fn receive_text(turn: &mut Turn, text: &str) {
    turn.step(at(1), Input::Model(ModelEvent::Text(text.to_owned())));
}

fn stop(turn: &mut Turn, reason: StopReason) -> Step {
    turn.step(at(1), Input::Model(ModelEvent::Stopped(reason)))
}

fn fails(turn: &mut Turn, now: u64, kind: ErrorKind, status: Option<u16>) -> Step {
    let (provider, message) = ("loopback".to_owned(), "no".to_owned());
    let error = ModelError { kind, provider, status, message, retry_after: None, request_id: None };
    turn.step(at(now), Input::ModelFailed { error, chance: 1.0 })
}

fn ended(turn: &mut Turn, id: &str, outside: bool) -> Step {
    let from_outside = outside.then(|| TaintSource::Outside(Origin::tool("look")));
    let (call, content) = (CallId::new(id).unwrap(), "found".to_owned());
    turn.step(at(2), Input::ToolEnded(ToolEnded { call, content, is_error: false, from_outside }))
}

fn results(turn: &Turn) -> Vec<(String, bool)> {
    let blocks = turn.messages().iter().flat_map(|said| &said.content);
    let results = blocks.filter_map(|block| match block {
        ContentBlock::ToolResult { content, is_error, .. } => Some((content.clone(), *is_error)),
        _ => None,
    });
    results.collect()
}

#[test]
fn tool_result_is_passed_to_the_model() {
    let mut turn = begun(rules(TurnAttendance::Owner));
    receive_text(&mut turn, "Let me look.");
    call(&mut turn, "c-1", "look");
    let Step::RunTools(permits) = stop(&mut turn, StopReason::ToolUse) else { panic!() };
    assert_eq!((permits.len(), permits[0].tool(), permits[0].has_side_effects()), (1, "look", false));
    assert!(matches!(ended(&mut turn, "c-1", false), Step::CallModel(CallModel { round: 2, .. })));
    receive_text(&mut turn, "It is there.");
    assert!(matches!(stop(&mut turn, StopReason::EndTurn), Step::Done(_)));
    assert_eq!(turn.answer(), "Let me look.\n\nIt is there.");
}

#[test]
fn tainted_turn_still_asks_the_owner_five_calls_later() {
    let mut turn = begun(rules(TurnAttendance::Owner));
    for round in 1..6 {
        let id = format!("c-{round}");
        call(&mut turn, &id, "look");
        assert!(matches!(stop(&mut turn, StopReason::ToolUse), Step::RunTools(_)));
        ended(&mut turn, &id, round == 1);
    }
    call(&mut turn, "c-6", "shell");
    let Step::AskOwner(question) = stop(&mut turn, StopReason::ToolUse) else { panic!() };
    assert_eq!(question.because, "this turn has read output of the tool `look`");
    let no = Input::OwnerSaid { call: question.call, answer: OwnerAnswer::No };
    assert!(matches!(turn.step(at(3), no), Step::CallModel(_)));
    assert_eq!(
        results(&turn).last(),
        Some(&("not run: the owner said no. Don't try it again in this turn.".into(), true))
    );
}

#[test]
fn rest_of_turn_answer_is_remembered() {
    let mut tainted = rules(TurnAttendance::Owner);
    tainted.taint.add(TaintSource::History);
    let mut turn = begun(tainted);
    call(&mut turn, "c-1", "shell");
    call(&mut turn, "c-2", "shell");
    let Step::AskOwner(question) = stop(&mut turn, StopReason::ToolUse) else { panic!() };
    let yes = Input::OwnerSaid { call: question.call, answer: OwnerAnswer::RestOfTurn };
    let Step::RunTools(permits) = turn.step(at(3), yes) else { panic!() };
    assert_eq!(permits.len(), 2);
    ended(&mut turn, "c-1", true);
    ended(&mut turn, "c-2", true);
    call(&mut turn, "c-3", "edit");
    assert!(matches!(stop(&mut turn, StopReason::ToolUse), Step::RunTools(_)));
}

#[test]
fn tainted_turn_without_owner_is_refused_with_reason() {
    for attendance in [TurnAttendance::Interactive, TurnAttendance::Unattended] {
        let mut tainted = rules(attendance);
        tainted.taint.add(TaintSource::Outside(Origin::group("mallory")));
        let mut turn = begun(tainted);
        call(&mut turn, "c-1", "shell");
        assert!(matches!(stop(&mut turn, StopReason::ToolUse), Step::CallModel(_)));
        let (content, is_error) = results(&turn).pop().unwrap();
        assert!(is_error && content.contains("a group message from `mallory`"), "{content}");
    }
}

#[test]
fn unanswered_confirmation_is_a_refusal() {
    let mut tainted = rules(TurnAttendance::Owner);
    tainted.taint.add(TaintSource::History);
    let mut turn = begun(tainted);
    call(&mut turn, "c-1", "shell");
    stop(&mut turn, StopReason::ToolUse);
    assert!(matches!(turn.step(at(200), Input::Tick), Step::Wait(Wait::ForOwner { .. })));
    assert!(matches!(turn.step(at(301), Input::Tick), Step::CallModel(_)));
    assert_eq!(results(&turn)[0].0, "not run: the owner was asked and did not answer in time.");
}

#[test]
fn unknown_invalid_and_excess_tool_calls_are_refused() {
    let mut turn = begun(rules(TurnAttendance::Owner));
    call(&mut turn, "c-1", "lok");
    call(&mut turn, "c-2", "edit");
    call(&mut turn, "c-3", "edit");
    let bad = ContentBlock::ToolCall {
        id: CallId::new("c-4").unwrap(),
        name: "look".into(),
        input: json!("{\"wh"),
    };
    turn.step(at(1), Input::Model(ModelEvent::Block(bad)));
    let Step::RunTools(permits) = stop(&mut turn, StopReason::ToolUse) else { panic!() };
    assert_eq!(permits.iter().map(|permit| permit.call().as_str()).collect::<Vec<_>>(), ["c-2"]);
    ended(&mut turn, "c-2", false);
    let results = results(&turn);
    assert_eq!(results[0].0, "there is no tool `lok`: did you mean `look`?");
    assert_eq!(results[2].0, "not run: a turn may call `edit` once only.");
    assert!(results[3].0.contains("JSON"), "{}", results[3].0);
}

#[test]
fn excess_tool_calls_are_refused_and_all_get_results() {
    let mut turn = begun(rules(TurnAttendance::Owner));
    for number in 0..1_000 {
        call(&mut turn, &format!("c-{number}"), "look");
    }
    let Step::RunTools(permits) = stop(&mut turn, StopReason::ToolUse) else { panic!() };
    assert_eq!(permits.len(), 100);
    for permit in permits {
        ended(&mut turn, permit.call().as_str(), false);
    }
    let refused = results(&turn).iter().filter(|(content, _)| content.contains("100 tools at most")).count();
    assert_eq!((results(&turn).len(), refused), (1_000, 900));
}

#[test]
fn round_limit_warns_the_model_and_then_stops() {
    let limits = TurnLimits { rounds: 2, ..TurnLimits::default() };
    let mut turn = begun(TurnRules { limits, ..rules(TurnAttendance::Owner) });
    for id in ["c-1", "c-2"] {
        call(&mut turn, id, "look");
        assert!(matches!(stop(&mut turn, StopReason::ToolUse), Step::RunTools(_)));
        assert!(matches!(ended(&mut turn, id, false), Step::CallModel(_)));
    }
    call(&mut turn, "c-3", "look");
    let Step::Done(ending) = stop(&mut turn, StopReason::ToolUse) else { panic!() };
    assert_eq!(ending.failure.map(|failure| failure.code), Some(ErrorCategory::Limit));
    assert!(results(&turn)[2].0.contains("Answer now with what you have"));
}

#[test]
fn retries_back_off_and_then_show_the_error() {
    let mut turn = begun(rules(TurnAttendance::Interactive));
    let mut now = 0;
    for delay in [1, 2, 4] {
        let Step::Wait(Wait::Until(waiting)) = fails(&mut turn, now, ErrorKind::RateLimited, Some(429))
        else {
            panic!()
        };
        assert_eq!(waiting.status, format!("Rate limited. Retrying in {delay}s..."));
        assert_eq!((waiting.until, waiting.queued), (at(now + delay), false));
        assert!(matches!(turn.step(at(now), Input::Tick), Step::Wait(Wait::Until(_))));
        now += delay;
        assert!(matches!(turn.step(at(now), Input::Tick), Step::CallModel(_)));
    }
    let Step::Done(ending) = fails(&mut turn, now, ErrorKind::RateLimited, Some(429)) else { panic!() };
    assert_eq!(ending.outcome, Outcome::Failed);
    let failure = ending.failure.unwrap();
    assert_eq!(failure.code, ErrorCategory::ProviderTransient);
    let detail = failure.detail.for_record();
    assert!(detail.ends_with("send the message again later"), "{detail}");
}

#[test]
fn unattended_message_is_requeued_and_retried_later() {
    let mut turn = begun(rules(TurnAttendance::Unattended));
    let mut now = 0;
    for _ in 0..3 {
        fails(&mut turn, now, ErrorKind::RateLimited, Some(429));
        now += 4;
        turn.step(at(now), Input::Tick);
    }
    let Step::Wait(Wait::Until(waiting)) = fails(&mut turn, now, ErrorKind::RateLimited, Some(429)) else {
        panic!()
    };
    assert_eq!((waiting.queued, waiting.until), (true, at(now + 60)));
    let again = turn.step(at(now + 60), Input::Tick);
    assert_eq!(again, Step::CallModel(CallModel { round: 1, attempt: 0, requeues: 1 }));
    receive_text(&mut turn, "Here I am.");
    assert!(matches!(stop(&mut turn, StopReason::EndTurn), Step::Done(Ending { failure: None, .. })));
}

#[test]
fn broken_stream_is_continued_after_its_partial_text() {
    let mut turn = begun(rules(TurnAttendance::Interactive));
    receive_text(&mut turn, "three words so");
    assert!(matches!(fails(&mut turn, 1, ErrorKind::BrokenStream, None), Step::Wait(Wait::Until(_))));
    assert!(matches!(turn.step(at(3), Input::Tick), Step::CallModel(CallModel { round: 1, attempt: 1, .. })));
    let roles: Vec<_> = turn.messages().iter().map(|said| said.role).collect();
    assert_eq!(roles, [crate::message::Role::Assistant, crate::message::Role::System]);
    receive_text(&mut turn, "far and more.");
    stop(&mut turn, StopReason::EndTurn);
    assert_eq!(turn.answer(), "three words so\n\nfar and more.");
}

#[test]
fn overlong_conversation_is_compacted_up_to_a_limit() {
    let summary = Usage { input: 7, output: 3, ..Usage::default() };
    for (times, fits) in [(1, true), (2, true), (16, true), (16, false)] {
        let mut turn = begun(rules(TurnAttendance::Interactive));
        for before in 0..times {
            assert_eq!(fails(&mut turn, 1, ErrorKind::ContextTooLong, Some(400)), Step::Compact, "{before}");
            let usage = turn.usage();
            assert!(matches!(turn.step(at(2), Input::Compacted(Ok(summary))), Step::CallModel(_)));
            assert_eq!(turn.usage(), usage + summary, "the summary is the turn's");
        }
        let step = if fits {
            receive_text(&mut turn, "Now it fits.");
            stop(&mut turn, StopReason::EndTurn)
        } else {
            fails(&mut turn, 3, ErrorKind::ContextTooLong, Some(400))
        };
        let Step::Done(ending) = step else { panic!("{times} {fits}") };
        assert_eq!(ending.failure.is_none(), fits, "{times}: {ending:?}");
    }
}

#[test]
fn failed_compaction_fails_the_turn() {
    let mut turn = begun(rules(TurnAttendance::Interactive));
    for shorter in [true, false] {
        assert_eq!(fails(&mut turn, 1, ErrorKind::ContextTooLong, Some(400)), Step::Compact);
        let result = if shorter { Ok(Usage::default()) } else { Err("nothing left".to_owned()) };
        let step = turn.step(at(2), Input::Compacted(result));
        assert_eq!(matches!(step, Step::Done(_)), !shorter, "{step:?}");
    }
}

#[test]
fn resume_during_compaction_calls_the_model() {
    let mut turn = begun(rules(TurnAttendance::Interactive));
    assert_eq!(fails(&mut turn, 1, ErrorKind::ContextTooLong, Some(400)), Step::Compact);
    assert!(matches!(turn.step(at(2), Input::Resumed), Step::CallModel(_)));
    assert_eq!(fails(&mut turn, 3, ErrorKind::ContextTooLong, Some(400)), Step::Compact);
}

#[test]
fn wrong_key_fails_immediately() {
    let mut turn = begun(rules(TurnAttendance::Unattended));
    let Step::Done(ending) = fails(&mut turn, 1, ErrorKind::Authentication, Some(401)) else { panic!() };
    assert_eq!(ending.failure.map(|failure| failure.code), Some(ErrorCategory::ProviderPermanent));
}

#[test]
fn timeout_ends_the_turn_and_keeps_shown_text() {
    let mut turn = begun(rules(TurnAttendance::Interactive));
    receive_text(&mut turn, "So far");
    let Step::Done(ending) = turn.step(at(600), Input::Tick) else { panic!() };
    assert_eq!(ending.failure.map(|failure| failure.code), Some(ErrorCategory::Limit));
    assert_eq!(turn.answer(), "So far");
}
