//! `foreword init`: a workspace that works at once, all of it or nothing.

use std::process::Command;

use crate::program::{Home, Ran, refusal};

const BLUEPRINTS: [&str; 5] = ["gateway", "vm", "sovereign", "template", "agent"];

#[test]
fn every_blueprint_gives_a_workspace_without_problems_that_builds() {
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
fn a_directory_is_made_and_the_answer_lists_every_file() {
    let home = Home::new();
    let told = home.json(&["--json", "init", "deep/inside", "--blueprint", "vm"]);
    let mut files: Vec<String> = told["files"]
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
fn the_next_steps_it_names_are_commands_that_work() {
    let home = Home::new();
    let told = home.succeed(&["init", "house"]);
    let steps: Vec<&str> = told.lines().filter(|line| line.starts_with("  foreword -w ")).collect();
    assert_eq!(steps.len(), 3, "{told}");
    for step in steps {
        let words: Vec<&str> = step.split("   ").next().unwrap().split_whitespace().skip(1).collect();
        home.succeed(&words);
    }
}

#[test]
fn a_file_that_is_there_already_is_never_overwritten_and_nothing_is_written() {
    let home = Home::with(&[("SOUL.md", "mine"), ("users/alice/USER.md", "mine too")]);
    let before = home.listing();
    let told = home.refused(1, &["init"]);
    assert!(told.contains("already has SOUL.md, users/alice/USER.md"), "{told}");
    assert!(told.contains("nothing was written"), "{told}");
    assert_eq!(home.listing(), before);
    assert_eq!(std::fs::read_to_string(home.path().join("SOUL.md")).unwrap(), "mine");
}

#[test]
fn a_link_to_nowhere_counts_as_a_file_that_is_there() {
    let home = Home::new();
    home.link("SOUL.md", home.outside().join("elsewhere"));
    home.refused(1, &["init"]);
    assert!(!home.outside().join("elsewhere").exists(), "written through a link");
    assert_eq!(home.listing(), ["SOUL.md"]);
}

#[test]
fn an_unknown_blueprint_is_a_mistake_in_usage() {
    let home = Home::new();
    assert!(home.refused(2, &["init", "--blueprint", "gatway"]).contains("did you mean `gateway`?"));
    assert!(home.refused(2, &["init", "--blueprint", "x"]).contains("use one of gateway, vm"));
    assert!(home.listing().is_empty());
}

#[test]
fn what_was_written_is_taken_back_when_a_later_file_cannot_be() {
    let home = Home::with(&[("users", "a file where a folder has to be")]);
    let told = home.refused(1, &["init"]);
    assert!(told.contains("can't write `"), "{told}");
    assert_eq!(home.listing(), ["users"]);
}

#[test]
fn a_file_that_could_be_written_only_in_part_is_taken_back_too() {
    let home = Home::new();
    // No file may grow past a few blocks: as good as a full disk, and it needs no special rights.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" init new";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_foreword")]).current_dir(home.path());
    let told = refusal(Ran::of(command.output().unwrap()), 1, &["init"]);
    assert!(told.contains("foreword.yaml"), "{told}");
    assert!(home.listing().is_empty(), "left behind: {:?}", home.listing());
}
