//! `foreword.yaml` as people get it wrong: each problem with its line, a caret, and the way out.

use foreword_core::store_url::StoreUrl;
use foreword_workspace::config::Config;
use foreword_workspace::document::DocumentError;

const LAYER: &str = "title: A, authority: policy, trust: public, source: { builtin: precedence }";

fn told(yaml: &str) -> String {
    let problems = Config::parse("foreword.yaml", yaml).unwrap_err();
    let words = |problem: &DocumentError| {
        let help = problem.help.as_deref().unwrap_or("-");
        format!("{problem}\n{}\nhelp: {help}", problem.excerpt())
    };
    problems.iter().map(words).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn each_problem_is_told_with_its_line_a_caret_and_the_way_out() {
    let blueprint = |layers: &str| format!("blueprints:\n  mine:\n    layers:\n{layers}");
    let all = [
        told("agent:\n  nam: Ada\n"),
        told("agent: { name: \" \" }\n"),
        told("agent: { model: echo }\n"),
        told("agent: { blueprint: vn }\n"),
        told("users:\n  - { name: alice, trust: ful }\n"),
        told("users:\n  - { name: ../alice, trust: full }\n"),
        told("users:\n  - { name: alice, trust: full }\n  - { name: alice, trust: inner }\n"),
        told(
            "users:\n  - { name: alice, trust: full, match: [a:b] }\n  - { name: bob, trust: inner, match: [a:b] }\n",
        ),
        told("situations:\n  group: { ceiling: familiar, prompt_overlay: /etc/motd }\n"),
        told("prompt:\n  files:\n    - { path: ../x }\n    - { path: A.md }\n    - { path: ./A.md }\n"),
        told("prompt: { dialect: jinga }\n"),
        told("prompt: { budget: { tokens: 0 }, allowed_paths: [notes] }\n"),
        told("tools: { disabled: [bsh], trust: { read_fil: full } }\n"),
        told(&blueprint(&format!(
            "      - {{ id: a, stability: turn, {LAYER} }}\n      - {{ id: b, stability: agent, {LAYER} }}\n"
        ))),
        told(&blueprint(&format!("      - {{ id: a, stabilty: agent, {LAYER} }}\n"))),
    ];
    insta::assert_snapshot!(all.join("\n\n---\n\n"));
}

#[test]
fn a_file_of_comments_or_nothing_is_a_configuration_of_defaults() {
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
fn the_store_is_a_file_beside_the_workspace_unless_the_configuration_says_otherwise() {
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
fn events_are_kept_for_thirty_days_unless_the_configuration_says_otherwise() {
    let days = |yaml: &str| Config::parse("foreword.yaml", yaml).map(|config| config.event_days);
    assert_eq!(days("").unwrap(), 30);
    assert_eq!(days("events: { retention_days: 7 }").unwrap(), 7);
    assert!(days("events: { retention_days: 0 }").unwrap_err()[0].message.contains("at once"));
}
