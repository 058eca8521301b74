//! Workflow files, good and bad.

use foreword_workspace::error::WorkspaceError;
use foreword_workspace::workflows::{ParameterKind, Workflow, WorkflowStep, load_workflows};
use serde_json::json;

use crate::workspace_folder::{Folder, cache};

const GOOD: &str = "\
name: daily-report
description: Collects the day and sends it.
parameters:
  - { name: day, type: string, description: Which day., required: true }
  - { name: limit, type: integer, default: 5 }
  - name: title
steps:
  - tool: memory_search
    arguments: { query: today, limit: 3, tags: [a, b] }
  - prompt: |
      Write the report.
";

#[test]
fn a_workflow_is_read_whole() {
    let workflow = Workflow::parse("workflows/daily.yaml", GOOD.into()).unwrap();
    assert_eq!(workflow.name, "daily-report");
    assert_eq!(workflow.description, "Collects the day and sends it.");
    let told: Vec<_> = workflow
        .parameters
        .iter()
        .map(|p| (&*p.name, p.kind, &*p.description, p.required, p.default.clone()))
        .collect();
    assert_eq!(
        told,
        [
            ("day", ParameterKind::String, "Which day.", true, None),
            ("limit", ParameterKind::Integer, "", false, Some(json!(5))),
            ("title", ParameterKind::String, "", false, None),
        ]
    );
    let arguments = json!({ "query": "today", "limit": 3, "tags": ["a", "b"] });
    assert_eq!(
        workflow.steps,
        [
            WorkflowStep::Tool {
                name: "memory_search".to_owned(),
                arguments: arguments.as_object().unwrap().clone()
            },
            WorkflowStep::Prompt("Write the report.\n".to_owned()),
        ]
    );
}

#[test]
fn bad_workflows_are_refused_with_line_caret_and_help() {
    let step = "steps: [{ prompt: x }]\n";
    let head = "name: a\ndescription: b\n";
    let cases = [
        format!("nmae: a\ndescription: b\n{step}"),
        format!("name: a\n{step}"),
        format!("name: a b\ndescription: b\n{step}"),
        format!("name: a\ndescription: |\n  one\n  two\n{step}"),
        format!("name: a\ndescription: ''\n{step}"),
        format!("{head}steps: []\n"),
        format!("{head}steps:\n  - prompt: x\n    tool: y\n"),
        format!("{head}steps:\n  - prompt: x\n    arguments: {{ a: 1 }}\n"),
        format!("{head}steps:\n  - prompt: ' '\n"),
        format!("{head}steps:\n  - {{}}\n"),
        format!("{head}steps:\n  - toool: y\n"),
        format!("{head}steps:\n  - just text\n"),
        format!("{head}parameters:\n  - {{ name: p, type: strnig }}\n{step}"),
        format!("{head}parameters:\n  - {{ name: p, type: integer, default: many }}\n{step}"),
        format!("{head}parameters:\n  - {{ name: p, required: true, default: x }}\n{step}"),
        format!("{head}parameters:\n  - {{ name: p }}\n  - {{ name: p }}\n{step}"),
        format!("{head}parameters:\n  - {{ type: string }}\n{step}"),
        "name: [a\n".to_owned(),
        String::new(),
    ];
    let mut words = String::new();
    for yaml in cases {
        match Workflow::parse("workflows/bad.yaml", yaml.as_str().into()).unwrap_err() {
            WorkspaceError::Document(error) => {
                let help = error.help.as_deref().unwrap_or("-");
                words.push_str(&format!("{error}\n{}\nhelp: {help}\n\n", error.excerpt()));
            }
            other => panic!("{other}"),
        }
    }
    insta::assert_snapshot!(words);
}

#[test]
fn workflows_are_listed_by_name_and_bad_ones_never_stop_the_rest() {
    let named = |name: &str| format!("description: d\nname: {name}\nsteps: [{{ prompt: x }}]\n");
    let folder = Folder::with(&[
        ("workflows/1.yaml", &named("zebra")),
        ("workflows/2.yml", &named("ant")),
        ("workflows/3.yaml", &named("ant")),
        ("workflows/4.yaml", "name: ["),
        ("workflows/notes.md", "no workflow"),
    ]);
    let loaded = load_workflows(&folder.root(), &cache());
    let names: Vec<_> = loaded.items.iter().map(|workflow| (&*workflow.name, &*workflow.path)).collect();
    assert_eq!(names, [("ant", "workflows/2.yml"), ("zebra", "workflows/1.yaml")]);
    assert_eq!(loaded.problems.len(), 2);
    assert!(loaded.problems[0].to_string().starts_with("workflows/4.yaml:"));
    assert_eq!(
        loaded.problems[1].to_string(),
        "workflows/3.yaml:2:7: the name `ant` is taken by `workflows/2.yml`"
    );
    assert!(load_workflows(&Folder::new().root(), &cache()).problems.is_empty());
}
