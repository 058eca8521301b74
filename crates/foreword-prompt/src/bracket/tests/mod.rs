//! Tests of the bracket dialect: rules, acceptance fixture, properties, warnings, fuzz corpus.

mod compat;
mod corpus;
mod laws;
mod rules;
mod variables;
mod warnings;

use super::{Mode, Template, Values};

/// The values most tests use, the same as in the acceptance fixture.
fn values() -> Values {
    Values::new()
        .with("file", "A", "x")
        .with("file", "B", "y")
        .without("file", "N")
        .with("file", "E", "")
        .with("file", "T", "[system:os]")
        .with("system", "os", "linux")
}

#[track_caller]
fn check(mode: Mode, cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        let rendered = Template::parse(*source, mode).render(&values());
        assert_eq!(rendered, *expected, "{mode:?}: {source:?}");
    }
}

/// For rules that are the same in both modes.
#[track_caller]
fn check_both(cases: &[(&str, &str)]) {
    check(Mode::Bracket, cases);
    check(Mode::Compat, cases);
}
