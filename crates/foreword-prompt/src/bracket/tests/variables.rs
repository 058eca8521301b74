//! References, values and the catalogue: seed 003 section 3.

use std::sync::Arc;

use crate::bracket::{Mode, Template, Values, Variable, catalog};

fn references(source: &str, mode: Mode) -> Vec<String> {
    Template::parse(source, mode).references().iter().map(ToString::to_string).collect()
}

#[test]
fn references_are_distinct_in_order_of_appearance() {
    let source = "[if !git:branch][file:b][endif][file:a][ file: b ][git:branch][system:tme]";
    for mode in [Mode::Bracket, Mode::Compat] {
        assert_eq!(references(source, mode), ["git:branch", "file:b", "file:a", "system:tme"]);
    }
}

#[test]
fn plain_text_is_not_a_reference() {
    for mode in [Mode::Bracket, Mode::Compat] {
        assert_eq!(
            references("[if file:a][file:b] [else] [file:] [if file:c][endif]", mode),
            ["file:b", "file:c"]
        );
    }
    assert_eq!(references("[[file:a] [note:b] [if note:b][endif]", Mode::Bracket), [""; 0]);
    assert_eq!(references("[[file:a] [note:b]", Mode::Compat), ["file:a", "note:b"]);
}

#[test]
fn variables_of_taken_branches_are_resolved_once() {
    let source = "[file:a][if file:a][file:a][file:b][else][file:c][endif][if file:d][file:e][endif]";
    let mut asked = Vec::new();
    let rendered = Template::parse(source, Mode::Bracket).render_with(|variable| {
        asked.push(variable.name().to_owned());
        (variable.name() != "d").then(|| Arc::from(variable.name()))
    });
    assert_eq!(rendered, "aab");
    assert_eq!(asked, ["a", "b", "d"]);
}

#[test]
fn last_value_wins_and_absent_is_not_empty() {
    let variable = Variable::new("file", "a");
    let mut values = Values::new().with("file", "a", "old").with("file", "a", "");
    assert_eq!(values.get(&variable).map(AsRef::as_ref), Some(""));
    values.set(variable.clone(), None);
    assert_eq!(values.get(&variable), None);
}

#[test]
fn catalogue_lists_the_table_and_only_file_is_dynamic() {
    let listed: Vec<_> = catalog().iter().map(|entry| format!("{}:{}", entry.kind, entry.name)).collect();
    let table = [
        "system:time",
        "system:date",
        "system:os",
        "system:hostname",
        "prompt:cwd",
        "prompt:model",
        "prompt:conversation_id",
        "git:branch",
        "git:status",
        "file:<path>",
    ];
    assert_eq!(listed, table);
    assert!(catalog().iter().all(|entry| entry.dynamic == (entry.kind == "file")));
}

#[test]
fn parser_accepts_every_variable_of_the_catalogue() {
    for entry in catalog() {
        let template = Template::parse(format!("[{}:{}]", entry.kind, entry.name), Mode::Bracket);
        assert_eq!(template.references(), [Variable::new(entry.kind, entry.name)]);
        assert_eq!(template.diagnostics(), []);
    }
}

#[test]
fn catalogue_entry_uses_the_api_names() {
    let entry = serde_json::to_value(catalog()[9]).unwrap();
    assert_eq!(entry["type"], "file");
    assert_eq!(entry["name"], "<path>");
    assert_eq!(entry["dynamic"], true);
    assert!(entry["description"].is_string());
    assert_eq!(entry.as_object().unwrap().len(), 4);
}
