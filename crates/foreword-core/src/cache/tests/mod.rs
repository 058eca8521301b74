//! Scripted pairs of requests with their expected cause, and properties of all shapes.

mod case;
mod conditions;
mod edits;
mod properties;
mod retention;
mod script;
mod shapes;
mod values;

use std::collections::BTreeMap;

use super::*;
use case::Case;

fn all() -> Vec<Case> {
    [
        values::clocks(),
        values::ids(),
        values::not_to_blame(),
        edits::tools(),
        edits::prompt(),
        edits::model_and_settings(),
        edits::history(),
        conditions::times(),
        conditions::sizes_and_breakpoints(),
        conditions::no_misses(),
        conditions::unknowns(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[test]
fn scripted_request_pairs_are_diagnosed_correctly() {
    let wrong: Vec<String> = all().iter().filter_map(complaint).collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// What is wrong with the diagnosis of a case.
fn complaint(case: &Case) -> Option<String> {
    let found = case.diagnose();
    let code = found.cause.as_ref().map(Cause::code);
    let place = found.place.as_ref().map(|place| match &place.layer {
        Some(layer) => format!("{}/{layer}", place.section.code()),
        None => place.section.code(),
    });
    let value = case.value.map(|_| value_at(case, &found));
    let right = code == case.cause
        && found.verdict == case.verdict
        && place.as_deref() == case.place
        && value.as_deref() == case.value;
    (!right).then(|| {
        format!(
            "{}\n  wanted {:?} {:?} {:?} {:?}\n  found {code:?} {place:?} {value:?}: {found:?}",
            case.name, case.cause, case.verdict, case.place, case.value
        )
    })
}

/// The bytes a diagnosis points at.
fn value_at(case: &Case, found: &Diagnosis) -> String {
    let Some(DivergencePoint { section, layer, bytes: Some((from, to)) }) = &found.place else {
        return String::new();
    };
    let text = match layer {
        Some(layer) => case.now.clone().layer(layer).clone(),
        None => case.now.text_of(section).unwrap_or_default(),
    };
    text.get(*from..*to).unwrap_or_default().to_owned()
}

#[test]
fn every_cause_has_at_least_two_scripted_pairs() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let cases = all();
    for case in &cases {
        *counts.entry(case.cause.unwrap_or("none")).or_default() += 1;
    }
    assert!(cases.len() >= 60, "{}", cases.len());
    assert_eq!(counts.len(), 21, "{counts:?}");
    assert!(counts.values().all(|count| *count >= 2), "{counts:?}");
}
