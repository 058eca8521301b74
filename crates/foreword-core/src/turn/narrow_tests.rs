//! Tools and open calls of a turn under stricter rules.

use std::collections::BTreeMap;
use std::time::Duration;

use foreword_prompt::tool::{Parameter, ParameterKind, ToolSpec};
use foreword_prompt::trust::Trust;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::message::ContentBlock;
use crate::model::StopReason;

/// A tool and its rule, as a table cell.
#[derive(Debug, Clone, Copy)]
struct Has {
    name: &'static str,
    sensitive: bool,
    most: Option<u32>,
    takes: &'static str,
}

const fn has(name: &'static str) -> Has {
    Has { name, sensitive: false, most: None, takes: "what" }
}

fn rules(tools: &[Has], attendance: TurnAttendance) -> TurnRules {
    let rule = |has: &Has| {
        let takes = Parameter::required(has.takes, ParameterKind::String, "What.");
        let spec = ToolSpec::new(has.name, "Does it.", Trust::Full).with(takes);
        let rule = ToolRule { spec, side_effects: false, sensitive: has.sensitive, most_per_turn: has.most };
        (has.name.to_owned(), rule)
    };
    let tools: BTreeMap<String, ToolRule> = tools.iter().map(rule).collect();
    TurnRules { tools: tools.into(), attendance, ..TurnRules::default() }
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_micros(0).plus(Duration::from_secs(seconds))
}

/// A turn whose model has requested these tools in one answer.
fn wanting(rules: TurnRules, calls: &[&str]) -> Turn {
    let mut turn = Turn::new(rules, at(0));
    turn.step(at(0), Input::Begin);
    for (number, tool) in calls.iter().enumerate() {
        let id = CallId::new(format!("c-{number}")).unwrap();
        let block = ContentBlock::ToolCall { id, name: (*tool).to_owned(), input: json!({ "what": "it" }) };
        turn.step(at(1), Input::Model(ModelEvent::Block(block)));
    }
    turn.step(at(1), Input::Model(ModelEvent::Stopped(StopReason::ToolUse)));
    assert!(turn.take_refusals().is_empty());
    turn
}

fn runs(step: &Step) -> Vec<&str> {
    let Step::RunTools(permits) = step else { return Vec::new() };
    permits.iter().map(Permit::tool).collect()
}

/// A turn that started with `before` and requested all tools continues with `now`: the remaining tools, the calls that
/// run, and the refusals.
fn check(before: &[Has], now: &[Has], may_call: &[&str], run: &[&str], refused: &[&str]) {
    let calls: Vec<&str> = before.iter().map(|has| has.name).collect();
    let mut turn = wanting(rules(before, TurnAttendance::Interactive), &calls);
    turn.narrow(&rules(now, TurnAttendance::Interactive));
    let left: Vec<&str> = turn.rules.tools.keys().map(String::as_str).collect();
    assert_eq!(left, may_call, "{before:?} → {now:?}");
    let reasons: Vec<String> = turn.take_refusals().into_iter().map(|refusal| refusal.reason).collect();
    assert_eq!(reasons, refused, "{before:?} → {now:?}");
    let step = turn.step(at(2), Input::Resumed);
    assert_eq!(runs(&step), run, "{before:?} → {now:?}");
    // With nothing left to run, the model is called with the results.
    assert_eq!(matches!(step, Step::CallModel(_)), run.is_empty(), "{step:?}");
}

#[test]
fn narrowing_removes_tools_and_adds_none() {
    let (look, shell) = (has("look"), has("shell"));
    let gone = "not run: the tool `shell` is no longer available.";
    check(&[look, shell], &[look, shell], &["look", "shell"], &["look", "shell"], &[]);
    check(&[look, shell], &[look], &["look"], &["look"], &[gone]);
    check(&[shell], &[], &[], &[], &[gone]);
    check(&[look], &[look, shell], &["look"], &["look"], &[]);
    check(&[shell], &[look], &[], &[], &[gone]);
}

#[test]
fn stricter_rule_wins() {
    let (free, bound) = (has("edit"), Has { sensitive: true, most: Some(1), ..has("edit") });
    let looser = Has { most: Some(9), ..has("edit") };
    for (before, now) in [(free, bound), (bound, free), (bound, looser), (looser, bound), (bound, bound)] {
        let mut turn = Turn::new(rules(&[before], TurnAttendance::Owner), at(0));
        turn.narrow(&rules(&[now], TurnAttendance::Owner));
        let rule = &turn.rules.tools["edit"];
        assert_eq!((rule.sensitive, rule.most_per_turn), (true, Some(1)), "{before:?} → {now:?}");
    }
}

#[test]
fn arguments_must_match_the_current_schema() {
    let other = Has { takes: "where", ..has("look") };
    let mut turn = wanting(rules(&[has("look")], TurnAttendance::Interactive), &["look"]);
    turn.narrow(&rules(&[other], TurnAttendance::Interactive));
    let [refusal] = &turn.take_refusals()[..] else { panic!() };
    assert!(refusal.reason.contains("`what` is not a parameter"), "{}", refusal.reason);
    assert!(matches!(turn.step(at(2), Input::Resumed), Step::CallModel(_)));
}

#[test]
fn lowered_call_limit_keeps_the_first_calls() {
    let (free, once) = (has("edit"), Has { most: Some(1), ..has("edit") });
    let mut turn = wanting(rules(&[free], TurnAttendance::Interactive), &["edit", "edit"]);
    turn.narrow(&rules(&[once], TurnAttendance::Interactive));
    let Step::RunTools(permits) = turn.step(at(2), Input::Resumed) else { panic!() };
    assert_eq!(permits.iter().map(|permit| permit.call().as_str()).collect::<Vec<_>>(), ["c-0"]);
    assert_eq!(turn.take_refusals()[0].reason, "not run: a turn may call `edit` once only.");
}

fn tainted(tools: &[Has], attendance: TurnAttendance) -> TurnRules {
    let mut rules = rules(tools, attendance);
    rules.taint.add(TaintSource::History);
    rules
}

#[test]
fn newly_sensitive_calls_need_the_owner() {
    let sensitive = Has { sensitive: true, ..has("shell") };
    let mut turn = wanting(tainted(&[has("shell"), has("look")], TurnAttendance::Owner), &["shell", "look"]);
    turn.narrow(&rules(&[sensitive, has("look")], TurnAttendance::Owner));
    let Step::AskOwner(question) = turn.step(at(2), Input::Resumed) else { panic!() };
    assert_eq!(question.tool, "shell");
    let yes = Input::OwnerSaid { call: question.call, answer: OwnerAnswer::Once };
    assert_eq!(runs(&turn.step(at(3), yes)), ["shell", "look"]);
    let mut turn = wanting(tainted(&[has("shell")], TurnAttendance::Interactive), &["shell"]);
    turn.narrow(&rules(&[sensitive], TurnAttendance::Interactive));
    assert!(turn.take_refusals()[0].reason.contains("`shell` is sensitive"));
}

#[test]
fn obsolete_questions_are_not_asked() {
    let sensitive = Has { sensitive: true, ..has("shell") };
    for (now, expected) in [
        (rules(&[], TurnAttendance::Owner), "no longer available"),
        (rules(&[sensitive], TurnAttendance::Interactive), "is sensitive"),
    ] {
        let mut turn = wanting(tainted(&[sensitive], TurnAttendance::Owner), &["shell"]);
        let Phase::Asking { .. } = turn.phase else { panic!() };
        turn.narrow(&now);
        assert!(turn.take_refusals()[0].reason.contains(expected));
        assert!(matches!(turn.step(at(2), Input::Resumed), Step::CallModel(_)));
    }
}

#[test]
fn permits_before_taint_stay_valid() {
    let sensitive = Has { sensitive: true, ..has("shell") };
    let before = [has("look"), sensitive];
    let mut turn = wanting(rules(&before, TurnAttendance::Interactive), &["look", "shell"]);
    let read = Some(TaintSource::History);
    let (call, content) = (CallId::new("c-0").unwrap(), "found".to_owned());
    turn.step(at(2), Input::ToolEnded(ToolEnded { call, content, is_error: false, from_outside: read }));
    turn.narrow(&rules(&[Has { most: Some(3), ..sensitive }], TurnAttendance::Interactive));
    assert_eq!(runs(&turn.step(at(3), Input::Resumed)), ["shell"]);
}

fn some_rules() -> impl Strategy<Value = Vec<Has>> {
    let one = |name| {
        let rule = (any::<bool>(), prop::option::of(1..3_u32), any::<bool>());
        let has = rule.prop_map(move |(sensitive, most, same)| Has {
            name,
            sensitive,
            most,
            takes: if same { "what" } else { "where" },
        });
        prop::option::weighted(0.8, has)
    };
    (one("look"), one("shell"), one("edit"))
        .prop_map(|(look, shell, edit)| [look, shell, edit].into_iter().flatten().collect())
}

proptest! {
    #[test]
    fn narrowed_turn_keeps_common_tools_and_narrowing_is_idempotent(
        before in some_rules(), now in some_rules(), calls in prop::collection::vec(0..3_usize, 0..5)
    ) {
        let names: Vec<&str> = calls.iter().map(|at| ["look", "shell", "edit"][*at]).collect();
        let mut turn = Turn::new(rules(&before, TurnAttendance::Interactive), at(0));
        turn.step(at(0), Input::Begin);
        for (number, name) in names.iter().enumerate() {
            let id = CallId::new(format!("c-{number}")).unwrap();
            let block = ContentBlock::ToolCall { id, name: (*name).to_owned(), input: json!({ "what": "it" }) };
            turn.step(at(1), Input::Model(ModelEvent::Block(block)));
        }
        turn.step(at(1), Input::Model(ModelEvent::Stopped(StopReason::ToolUse)));
        let mut same = turn.clone();
        same.narrow(&rules(&before, TurnAttendance::Interactive));
        prop_assert_eq!(&same, &turn);
        let now = rules(&now, TurnAttendance::Interactive);
        turn.narrow(&now);
        let mut twice = turn.clone();
        twice.narrow(&now);
        prop_assert_eq!(&twice, &turn);
        let allowed = |name: &str| now.tools.contains_key(name) && before.iter().any(|has| has.name == name);
        prop_assert!(turn.rules.tools.keys().all(|name| allowed(name)));
        match turn.step(at(2), Input::Resumed) {
            Step::RunTools(permits) => {
                prop_assert!(!permits.is_empty() && permits.iter().all(|permit| allowed(permit.tool())));
            }
            step => prop_assert!(matches!(step, Step::CallModel(_) | Step::Done(_)), "{:?}", step),
        }
    }
}
