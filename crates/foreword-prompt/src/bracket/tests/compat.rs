//! The acceptance fixture of `bracket-compat`, byte for byte.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use crate::bracket::{Mode, Template, Values, Variable};

const FIXTURE: &str = include_str!("../../../tests/fixtures/bracket_compat.yaml");

#[derive(Deserialize)]
struct Fixture {
    values: BTreeMap<String, Option<Arc<str>>>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    r#in: String,
    out: String,
}

#[test]
fn compat_mode_matches_the_acceptance_fixture_to_the_byte() {
    let fixture: Fixture = serde_saphyr::from_str(FIXTURE).unwrap();
    let values: Values =
        fixture.values.into_iter().map(|(key, value)| (Variable::parse(&key).unwrap(), value)).collect();
    assert!(fixture.cases.len() >= 22, "the fixture lost cases");
    for case in fixture.cases {
        let rendered = Template::parse(case.r#in.as_str(), Mode::Compat).render(&values);
        assert_eq!(rendered, case.out, "{:?}", case.r#in);
    }
}
