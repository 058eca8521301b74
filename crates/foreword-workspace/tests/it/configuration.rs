//! Invalid `foreword.yaml` files: each problem has its line, a caret, and a hint.

use foreword_core::store_url::StoreUrl;
use foreword_workspace::config::Config;
use foreword_workspace::document::DocumentError;

const LAYER: &str = "title: A, authority: policy, trust: public, source: { builtin: precedence }";

fn messages(yaml: &str) -> String {
    let problems = Config::parse("foreword.yaml", yaml).unwrap_err();
    let words = |problem: &DocumentError| {
        let help = problem.help.as_deref().unwrap_or("-");
        format!("{problem}\n{}\nhelp: {help}", problem.excerpt())
    };
    problems.iter().map(words).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn problems_have_line_caret_and_help() {
    let blueprint = |layers: &str| format!("blueprints:\n  mine:\n    layers:\n{layers}");
    let all = [
        messages("agent:\n  nam: Ada\n"),
        messages("agent: { name: \" \" }\n"),
        messages("agent: { model: echo }\n"),
        messages("agent: { blueprint: vn }\n"),
        messages("users:\n  - { name: alice, trust: ful }\n"),
        messages("users:\n  - { name: ../alice, trust: full }\n"),
        messages("users:\n  - { name: alice, trust: full }\n  - { name: alice, trust: inner }\n"),
        messages(
            "users:\n  - { name: alice, trust: full, match: [a:b] }\n  - { name: bob, trust: inner, match: [a:b] }\n",
        ),
        messages("situations:\n  group: { ceiling: familiar, prompt_overlay: /etc/motd }\n"),
        messages("prompt:\n  files:\n    - { path: ../x }\n    - { path: A.md }\n    - { path: ./A.md }\n"),
        messages("prompt: { dialect: jinga }\n"),
        messages("prompt: { budget: { tokens: 0 }, allowed_paths: [notes] }\n"),
        messages("tools: { disabled: [bsh], trust: { read_fil: full } }\n"),
        messages(&blueprint(&format!(
            "      - {{ id: a, stability: turn, {LAYER} }}\n      - {{ id: b, stability: agent, {LAYER} }}\n"
        ))),
        messages(&blueprint(&format!("      - {{ id: a, stabilty: agent, {LAYER} }}\n"))),
    ];
    insta::assert_snapshot!(all.join("\n\n---\n\n"));
}

#[test]
fn empty_files_give_the_default_configuration() {
    for yaml in ["", "\n\n", "# nothing yet\n  # really\n"] {
        let config = Config::parse("foreword.yaml", yaml).unwrap();
        assert_eq!((&*config.agent.name, &*config.agent.model), ("Assistant", "offline/echo"));
        assert_eq!(config.users.len(), 1, "the owner");
        assert_eq!(
            config.situations.keys().map(|name| &**name).collect::<Vec<_>>(),
            ["dm", "group", "inbox", "system"]
        );
        assert_eq!(config.prompt.budget, 30_000);
    }
}

#[test]
fn store_defaults_to_a_file_in_the_workspace() {
    let store = |yaml: &str| Config::parse("foreword.yaml", yaml).map(|config| config.store_url);
    assert_eq!(store("").unwrap(), StoreUrl::File(".foreword/foreword.db".to_owned()));
    assert_eq!(store("store: { url: data/x.db }").unwrap(), StoreUrl::File("data/x.db".to_owned()));
    let shared = store("store: { url: \"postgres://db/x\" }").unwrap();
    assert_eq!(shared, StoreUrl::Postgres("postgres://db/x".to_owned()));
    let problems = store("store: { url: \"mysql://alice:s3cret@db/x\" }").unwrap_err();
    assert_eq!(problems[0].message, "`store.url`: there is no storage engine for `mysql`");
    assert!(!problems[0].excerpt().contains("s3cret"), "{}", problems[0].excerpt());
}

#[test]
fn event_retention_defaults_to_thirty_days() {
    let days = |yaml: &str| Config::parse("foreword.yaml", yaml).map(|config| config.event_days);
    assert_eq!(days("").unwrap(), 30);
    assert_eq!(days("events: { retention_days: 7 }").unwrap(), 7);
    assert!(days("events: { retention_days: 0 }").unwrap_err()[0].message.contains("at once"));
}
