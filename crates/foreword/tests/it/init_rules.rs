//! `foreword init`: creates a complete workspace or nothing.

use std::process::Command;

use crate::program::{Home, Ran, refusal};

const BLUEPRINTS: [&str; 5] = ["gateway", "vm", "sovereign", "template", "agent"];

#[test]
fn every_blueprint_creates_a_valid_workspace() {
    for blueprint in BLUEPRINTS {
        let home = Home::made_for(blueprint);
        let checked = home.json(&["--json", "check"]);
        assert_eq!(checked, serde_json::json!({ "errors": [], "warnings": [] }), "{blueprint}");
        assert!(home.succeed(&["check"]).starts_with("No problems found in "), "{blueprint}");
        let built = home.run(&["build"]);
        assert_eq!((built.code, built.stderr.as_str()), (0, ""), "{blueprint}");
        assert!(built.stdout.len() > 200, "{blueprint}: {}", built.stdout);
        assert_eq!(home.json(&["--json", "explain"])["blueprint"], blueprint);
    }
}

#[test]
fn init_creates_directory_and_lists_files() {
    let home = Home::new();
    let output = home.json(&["--json", "init", "deep/inside", "--blueprint", "vm"]);
    let mut files: Vec<String> = output["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| format!("deep/inside/{}", path.as_str().unwrap()))
        .collect();
    files.sort();
    let made: Vec<String> = home.listing().into_iter().filter(|path| !path.ends_with('/')).collect();
    assert_eq!(made, files);
}

#[test]
fn next_steps_of_init_work() {
    let home = Home::new();
    let output = home.succeed(&["init", "house"]);
    let steps: Vec<&str> = output.lines().filter(|line| line.starts_with("  foreword -w ")).collect();
    assert_eq!(steps.len(), 3, "{output}");
    for step in steps {
        let words: Vec<&str> = step.split("   ").next().unwrap().split_whitespace().skip(1).collect();
        home.succeed(&words);
    }
}

#[test]
fn init_never_overwrites_a_file() {
    let home = Home::with(&[("SOUL.md", "mine"), ("users/alice/USER.md", "mine too")]);
    let before = home.listing();
    let output = home.refused(1, &["init"]);
    assert!(output.contains("already has SOUL.md, users/alice/USER.md"), "{output}");
    assert!(output.contains("nothing was written"), "{output}");
    assert_eq!(home.listing(), before);
    assert_eq!(std::fs::read_to_string(home.path().join("SOUL.md")).unwrap(), "mine");
}

#[test]
fn dangling_link_counts_as_existing_file() {
    let home = Home::new();
    home.link("SOUL.md", home.outside().join("elsewhere"));
    home.refused(1, &["init"]);
    assert!(!home.outside().join("elsewhere").exists(), "written through a link");
    assert_eq!(home.listing(), ["SOUL.md"]);
}

#[test]
fn unknown_blueprint_is_a_usage_error() {
    let home = Home::new();
    assert!(home.refused(2, &["init", "--blueprint", "gatway"]).contains("did you mean `gateway`?"));
    assert!(home.refused(2, &["init", "--blueprint", "x"]).contains("use one of gateway, vm"));
    assert!(home.listing().is_empty());
}

#[test]
fn failed_init_removes_written_files() {
    let home = Home::with(&[("users", "a file where a folder has to be")]);
    let output = home.refused(1, &["init"]);
    assert!(output.contains("can't write `"), "{output}");
    assert_eq!(home.listing(), ["users"]);
}

#[test]
fn partially_written_file_is_removed() {
    let home = Home::new();
    // A file size limit of a few blocks acts like a full disk, and needs no special rights.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" init new";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_foreword")]).current_dir(home.path());
    let output = refusal(Ran::of(command.output().unwrap()), 1, &["init"]);
    assert!(output.contains("foreword.yaml"), "{output}");
    assert!(home.listing().is_empty(), "left behind: {:?}", home.listing());
}
