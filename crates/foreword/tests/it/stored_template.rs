//! `foreword template`: versions on disk.

use crate::program::Home;

fn template_home() -> Home {
    Home::with(&[("foreword.yaml", "agent: { blueprint: template }\n")])
}

fn set(home: &Home, text: &str, more: &[&str]) -> crate::program::Ran {
    let args: Vec<&str> = ["template", "set", "-"].into_iter().chain(more.iter().copied()).collect();
    home.run_with_input(&args, text.as_bytes())
}

#[test]
fn showing_the_template_creates_no_database() {
    let home = template_home();
    assert!(home.succeed(&["template", "get"]).starts_with("You are a helpful coding assistant."));
    home.succeed(&["template", "history"]);
    home.succeed(&["template", "variables"]);
    home.refused(1, &["template", "get", "--version", "1"]);
    home.succeed(&["build"]);
    assert_eq!(home.listing(), ["foreword.yaml"]);
}

#[test]
fn configured_template_is_used_until_one_is_stored() {
    let home = Home::with(&[
        ("foreword.yaml", "agent: { blueprint: template }\nprompt: { template_file: system.md }\n"),
        ("system.md", "You are from a file.\n"),
    ]);
    assert_eq!(home.succeed(&["template", "get"]), "You are from a file.\n");
    let about = home.json(&["--json", "template", "get"]);
    assert_eq!((&about["source"], &about["origin"]), (&"file".into(), &"system.md".into()));
    set(&home, "You are stored.", &[]);
    assert_eq!(home.succeed(&["template", "get"]), "You are stored.");
    assert_eq!(home.succeed(&["build"]), "You are stored.");
}

#[test]
fn template_versions_are_numbered_and_the_newest_is_used() {
    let home = template_home();
    assert_eq!(set(&home, "You are kind.\n", &["--message", "first"]).code, 0);
    assert_eq!(set(&home, "You are very kind.\n", &["--message", "kinder", "--author", "bob"]).code, 0);
    assert_eq!(home.succeed(&["template", "get", "--version", "1"]), "You are kind.\n");
    assert_eq!(home.succeed(&["build"]), "You are very kind.\n");
    let versions = home.json(&["--json", "template", "history"]);
    let versions = versions["versions"].as_array().unwrap();
    let row = |index: usize| {
        let one = &versions[index];
        (one["version"].as_u64().unwrap(), one["author"].as_str().unwrap(), one["message"].as_str().unwrap())
    };
    assert_eq!((versions.len(), row(0), row(1)), (2, (2, "bob", "kinder"), (1, "owner", "first")));
}

#[test]
fn identical_template_is_not_stored_again() {
    let home = template_home();
    set(&home, "x", &[]);
    let again = set(&home, "x", &[]);
    assert_eq!((again.code, again.stdout.as_str()), (0, "This is already version 1. Nothing was stored.\n"));
}

#[test]
fn template_warnings_have_lines() {
    let home = template_home();
    let ran = set(&home, "Today is [sytem:date].\n", &[]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stderr.contains("unknown variable type `sytem`") && ran.stderr.contains("<stdin>:1:11"),
        "{}",
        ran.stderr
    );
    let json = home.run_with_input(&["--json", "template", "set", "-"], b"Now [sytem:date].");
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["warnings"].as_array().unwrap().len(), 1);
}

#[test]
fn invalid_template_is_not_stored() {
    let home =
        Home::with(&[("foreword.yaml", "agent: { blueprint: template }\nprompt: { dialect: jinja }\n")]);
    let ran = set(&home, "{% if %}", &[]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("<stdin>:1:") && ran.stderr.contains('^'), "{}", ran.stderr);
    assert_eq!(home.listing(), ["foreword.yaml"]);
}

#[test]
fn check_shows_problems_and_stores_nothing() {
    let home = template_home();
    assert_eq!(set(&home, "x", &["--check"]).stdout, "The template is valid. Nothing was stored.\n");
    assert_eq!(home.listing(), ["foreword.yaml"]);
}

#[test]
fn template_set_checks_the_expected_version() {
    let home = template_home();
    set(&home, "one", &["--expect", "0"]);
    let ran = set(&home, "two", &["--expect", "0"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("is at version 1, not 0") && ran.stderr.contains("help: "), "{}", ran.stderr);
    assert_eq!(home.succeed(&["template", "get"]), "one");
}

#[test]
fn template_set_warns_without_a_template_layer() {
    let home = Home::with(&[("foreword.yaml", "agent: { blueprint: gateway }\n")]);
    let ran = set(&home, "x", &[]);
    assert!(ran.stderr.contains("blueprint `gateway` does not use the stored template"), "{}", ran.stderr);
}

#[test]
fn blank_template_is_stored_and_means_no_prompt() {
    let home = template_home();
    let ran = set(&home, "", &[]);
    assert!(ran.code == 0 && ran.stderr.contains("no system prompt is sent"), "{}", ran.stderr);
    assert_eq!(home.succeed(&["build"]), "");
}

#[test]
fn variables_are_listed_for_the_editor() {
    let variables = template_home().json(&["--json", "template", "variables"]);
    let dynamic: Vec<&str> = variables["variables"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["dynamic"] == true)
        .map(|one| one["type"].as_str().unwrap())
        .collect();
    assert_eq!(dynamic, ["file"]);
}
