//! Checks docs/offline-model.md against the code.

use super::asked;
use crate::directive::{directives, help};

const PAGE: &str = include_str!("../../../../docs/offline-model.md");

#[test]
fn documentation_lists_every_directive_with_its_syntax() {
    for line in help().lines().skip(1) {
        let form = line.trim_start_matches("- `").split("`:").next().unwrap();
        assert!(PAGE.contains(&format!("`{form}`").replace('|', "\\|")), "docs/offline-model.md: {form}");
    }
}

#[test]
fn every_example_on_the_page_is_obeyed() {
    let orders: Vec<&str> = PAGE.lines().filter(|line| line.starts_with('!')).collect();
    assert!(orders.len() >= 20, "{}", orders.len());
    for order in orders {
        assert!(directives(order).is_ok_and(|found| found.len() == 1), "docs/offline-model.md: {order}");
    }
}

#[test]
fn documented_questions_call_the_documented_tools() {
    let rows = PAGE.lines().filter(|line| line.starts_with("| “"));
    let mut seen = 0;
    for row in rows {
        let question = row.split(['“', '”']).nth(1).unwrap();
        let tool = row.rsplit_once("| `").unwrap().1.split('`').next().unwrap();
        let script = asked(question).script();
        assert_eq!(script.calls().map(|(name, _)| name).collect::<Vec<_>>(), [tool], "{question}");
        seen += 1;
    }
    assert!(seen >= 8, "{seen}");
}
