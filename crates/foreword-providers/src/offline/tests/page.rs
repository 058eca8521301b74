//! The page about the offline model says what is true.

use super::super::directive::{directives, help};
use super::asked;

const PAGE: &str = include_str!("../../../../../docs/offline-model.md");

#[test]
fn the_page_names_every_directive_in_its_own_form() {
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
fn every_question_on_the_page_leads_to_the_tool_beside_it() {
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
