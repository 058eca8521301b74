//! Valid and invalid workflow files.

use foreword_prompt::trust::Trust;
use foreword_workspace::error::WorkspaceError;
use foreword_workspace::workflows::{
    ParameterType, StepAction, StepValues, Workflow, fit, load_workflows, parse_arguments,
};
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
fn workflow_files_are_parsed() {
    let workflow = Workflow::parse("workflows/daily.yaml", GOOD.into()).unwrap();
    assert_eq!(workflow.name, "daily-report");
    assert_eq!(workflow.description, "Collects the day and sends it.");
    let listed: Vec<_> = workflow
        .parameters
        .iter()
        .map(|p| (&*p.name, p.kind, &*p.description, p.required, p.default.clone()))
        .collect();
    assert_eq!(
        listed,
        [
            ("day", ParameterType::String, "Which day.", true, None),
            ("limit", ParameterType::Integer, "", false, Some(json!(5))),
            ("title", ParameterType::String, "", false, None),
        ]
    );
    let arguments = json!({ "query": "today", "limit": 3, "tags": ["a", "b"] });
    let search = StepAction::Tool {
        name: "memory_search".to_owned(),
        arguments: arguments.as_object().unwrap().clone(),
    };
    let steps: Vec<_> = workflow.steps.iter().map(|step| (&*step.name, &step.action)).collect();
    let write = StepAction::Prompt("Write the report.\n".to_owned());
    assert_eq!(steps, [("step-1", &search), ("step-2", &write)]);
    assert_eq!((workflow.trust, workflow.output), (None, None));
}

#[test]
fn steps_have_names_and_files_may_state_trust() {
    let yaml = "name: a\ndescription: b\ntrust: inner\nparameters: [{ name: topic }]\nsteps:\n  \
                - { name: find, tool: memory_search, arguments: { query: '{{ topic }}' } }\n  \
                - prompt: 'Say {{ previous }} of {{ steps.find.output }}, {{ agent_name }}.'\n\
                output: '{{ steps.step_2.output }}'\n";
    let workflow = Workflow::parse("workflows/a.yaml", yaml.into()).unwrap();
    assert_eq!(workflow.trust, Some(Trust::Inner));
    assert_eq!(workflow.output.as_deref(), Some("{{ steps.step_2.output }}"));
    let given = json!({ "topic": "rain" }).as_object().unwrap().clone();
    let mut values = StepValues::new(&workflow.parameters, given);
    let StepAction::Tool { arguments, .. } = &workflow.steps[0].action else { panic!() };
    let filled = values.fill_arguments(arguments, "Ada").unwrap();
    assert_eq!(serde_json::Value::from(filled), json!({ "query": "rain" }));
    values.add("find", "wet");
    let StepAction::Prompt(prompt) = &workflow.steps[1].action else { panic!() };
    assert_eq!(values.fill(prompt, "Ada").unwrap(), "Say wet of wet, Ada.");
}

#[test]
fn single_parameter_arguments_keep_their_type() {
    let parameters = json!({ "list": [1, 2], "many": 3, "off": null });
    let values = StepValues::new(&[], parameters.as_object().unwrap().clone());
    let arguments = json!({ "a": "{{ list }}", "b": "{{many}}", "c": ["x{{ many }}"], "d": { "e": "{{ off }}" }, "f": 1 });
    let filled = values.fill_arguments(arguments.as_object().unwrap(), "Ada").unwrap();
    assert_eq!(
        serde_json::Value::from(filled),
        json!({ "a": [1, 2], "b": 3, "c": ["x3"], "d": { "e": null }, "f": 1 })
    );
}

/// The messages for invalid files.
fn messages(cases: impl IntoIterator<Item = String>) -> String {
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
    words
}

#[test]
fn invalid_templates_are_refused_with_line_caret_and_help() {
    let head = "name: a\ndescription: b\nparameters: [{ name: topic }]\nsteps:\n";
    insta::assert_snapshot!(messages([
        format!("{head}  - prompt: Say {{{{ tpoic }}}}.\n"),
        format!("{head}  - prompt: |\n      One line.\n      Say {{{{ topic }}.\n"),
        format!("{head}  - prompt: 'Say {{% if topic %}}x'\n"),
        format!("{head}  - prompt: 'Say {{{{ topic | shout }}}}'\n"),
        format!("{head}  - prompt: 'Say {{{{ previous }}}}'\n"),
        format!(
            "{head}  - {{ name: one, prompt: 'Say {{{{ steps.two.output }}}}' }}\n  - {{ name: two, prompt: x }}\n"
        ),
        format!("{head}  - {{ name: one, prompt: 'Say {{{{ steps.one.output }}}}' }}\n"),
        format!("{head}  - {{ name: find, prompt: x }}\n  - prompt: 'Say {{{{ steps.fnid.output }}}}'\n"),
        format!("{head}  - tool: bash\n    arguments: {{ list: [1, 'echo {{{{ weather }}}}'] }}\n"),
        format!("{head}  - prompt: x\noutput: '{{{{ steps.gone.output }}}}'\n"),
        format!("{head}  - {{ name: one, prompt: x }}\n  - {{ name: one, prompt: y }}\n"),
        format!("{head}  - {{ name: two words, prompt: x }}\n"),
        "name: a\ndescription: b\nparameters: [{ name: steps }]\nsteps: [{ prompt: x }]\n".to_owned(),
        "name: a\ndescription: b\ntrust: everybody\nsteps: [{ prompt: x }]\n".to_owned(),
    ]));
}

#[test]
fn workflow_cycles_are_refused_at_the_step() {
    let calls = |name: &str, callee: &str| {
        format!(
            "name: {name}\ndescription: d\nsteps:\n  - prompt: x\n  - tool: workflow_run\n    arguments: {{ name: {callee} }}\n"
        )
    };
    let folder = Folder::with(&[
        ("workflows/self.yaml", &calls("self", "self")),
        ("workflows/a.yaml", &calls("a", "b")),
        ("workflows/b.yaml", &calls("b", "c")),
        ("workflows/c.yaml", &calls("c", "a")),
        ("workflows/out.yaml", &calls("out", "'{{ agent_name }}'")),
        ("workflows/into.yaml", &calls("into", "a")),
    ]);
    let loaded = load_workflows(&folder.root(), &cache());
    let names: Vec<&str> = loaded.items.iter().map(|workflow| workflow.name.as_str()).collect();
    assert_eq!(names, ["into", "out"]);
    let mut listed: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    listed.sort();
    assert_eq!(
        listed,
        [
            "workflows/a.yaml:5:11: the workflow `a` would run itself: a → b → c → a",
            "workflows/b.yaml:5:11: the workflow `b` would run itself: b → c → a → b",
            "workflows/c.yaml:5:11: the workflow `c` would run itself: c → a → b → c",
            "workflows/self.yaml:5:11: the workflow `self` would run itself: self → self",
        ]
    );
}

#[test]
fn command_line_parameters_are_parsed_by_kind() {
    let yaml = "name: a\ndescription: b\nparameters:\n  - { name: text }\n  - { name: many, type: integer }\n  \
                - { name: much, type: number }\n  - { name: on, type: boolean }\n  - { name: list, type: array }\n  \
                - { name: map, type: object }\nsteps: [{ prompt: x }]\n";
    let workflow = Workflow::parse("workflows/a.yaml", yaml.into()).unwrap();
    let read = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        parse_arguments(&workflow, &words).map(serde_json::Value::from).map_err(|bad| bad.problems)
    };
    let all = ["text=3=4", "many=3", "much=2.5", "on=true", "list=[1]", "map={\"a\":1}"];
    let expected =
        json!({ "text": "3=4", "many": 3, "much": 2.5, "on": true, "list": [1], "map": { "a": 1 } });
    assert_eq!(read(&all), Ok(expected));
    for (words, problem) in [
        (&["many=three"][..], "`many` takes a whole number, not `three`"),
        (&["on=yes"], "`on` takes `true` or `false`, not `yes`"),
        (&["list=1"], "`list` takes a list, not `1`"),
        (&["text"], "`text` is not of the form `name=value`"),
        (&["text=a", "text=b"], "`text` is given twice"),
    ] {
        assert_eq!(read(words), Err(vec![problem.to_owned()]), "{words:?}");
    }
    // An unknown name is reported with the other problems.
    let unknown = read(&["txet=a"]).unwrap();
    let bad = fit(&workflow, unknown.as_object().unwrap()).unwrap_err();
    assert_eq!(bad.problems, ["`txet` is not a parameter; did you mean `text`?"]);
}

#[test]
fn invalid_workflows_are_refused_with_line_caret_and_help() {
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
    insta::assert_snapshot!(messages(cases));
}

#[test]
fn workflows_are_listed_by_name_despite_invalid_ones() {
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
