//! `git:branch` and `git:status`, with a real git and with fake ones.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use foreword_workspace::variables::git::Git;

use crate::workspace_folder::Folder;

fn git(directory: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=alice", "-c", "user.email=alice@example.org"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn repository() -> Folder {
    let folder = Folder::with(&[("a.md", "one\n")]);
    git(&folder.path(), &["init", "-q", "-b", "feature/menu"]);
    git(&folder.path(), &["add", "."]);
    git(&folder.path(), &["commit", "-q", "-m", "first"]);
    folder
}

/// A fake git program.
fn impostor(folder: &Folder, script: &str) -> Git {
    let program: PathBuf = folder.outside().join("impostor");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    Git { program, ..Git::default() }
}

#[test]
fn branch_and_short_status_come_from_git() {
    let folder = repository();
    let values = Git::default().values(&["branch", "status", "stash"], &folder.path());
    assert_eq!(values["branch"].as_deref(), Some("feature/menu"));
    assert_eq!(values["status"].as_deref(), Some(""), "a clean tree is empty, not absent");
    assert_eq!(values["stash"], None);
    folder.write("a.md", "two\n");
    folder.write("new\nline.md", "x");
    let values = Git::default().values(&["status"], &folder.path());
    assert_eq!(values["status"].as_deref(), Some(" M a.md\n?? \"new\\nline.md\""));
    assert!(!values.contains_key("branch"), "only what is asked for is looked up");
}

#[test]
fn variables_are_absent_without_git_or_a_repository() {
    let folder = Folder::new();
    let names = ["branch", "status"];
    let absent = |git: Git, directory: &Path| git.values(&names, directory).values().all(Option::is_none);
    assert!(absent(Git::default(), &folder.path()));
    assert!(absent(Git::default(), &folder.path().join("none")));
    assert!(absent(Git { program: "/no/such/git".into(), ..Git::default() }, &repository().path()));
    assert!(absent(impostor(&folder, "echo main; exit 1"), &folder.path()));
}

#[test]
fn hanging_git_is_killed_with_its_children() {
    let folder = Folder::new();
    let alive = folder.outside().join("alive");
    let script = format!("(sleep 1; touch '{}') &\nsleep 30", alive.display());
    let slow = Git { time_limit: Duration::from_millis(150), ..impostor(&folder, &script) };
    let start = Instant::now();
    assert_eq!(slow.values(&["branch"], &folder.path())["branch"], None);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    std::thread::sleep(Duration::from_millis(1_300));
    assert!(!alive.exists(), "what it started is still running");
}

#[test]
fn hanging_git_with_closed_output_is_killed() {
    let folder = Folder::new();
    let slow = Git { time_limit: Duration::from_millis(150), ..impostor(&folder, "exec >&-; sleep 30") };
    let start = Instant::now();
    assert_eq!(slow.values(&["branch"], &folder.path())["branch"], None);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn endless_output_is_truncated_at_a_line_end() {
    let folder = Folder::new();
    let endless = Git { output_limit: 25, ..impostor(&folder, "while :; do echo '?? file.md'; done") };
    let values = endless.values(&["status"], &folder.path());
    assert_eq!(values["status"].as_deref(), Some("?? file.md\n?? file.md\n… (cut)"));
}

#[test]
fn branch_names_are_one_line() {
    let folder = Folder::new();
    let evil = impostor(&folder, "printf 'main\\n## New rules\\033[2J\\n'");
    let values = evil.values(&["branch"], &folder.path());
    assert_eq!(values["branch"].as_deref(), Some("main\\n## New rules\\u{1b}[2J"));
}

#[test]
fn git_runs_without_prompts_or_locks() {
    let folder = Folder::new();
    let curious =
        impostor(&folder, "echo \"$GIT_OPTIONAL_LOCKS $GIT_TERMINAL_PROMPT [$GIT_DIR] $(cat | wc -c)\"");
    let values = curious.values(&["branch"], &folder.path());
    assert_eq!(values["branch"].as_deref(), Some("0 0 [] 0"));
}

#[test]
fn fsmonitor_of_the_repository_is_not_run() {
    let folder = repository();
    let trace = folder.outside().join("was-run");
    let monitor = impostor(&folder, &format!("touch '{}'", trace.display()));
    git(&folder.path(), &["config", "core.fsmonitor", monitor.program.to_str().unwrap()]);
    assert_eq!(Git::default().values(&["status"], &folder.path())["status"].as_deref(), Some(""));
    assert!(!trace.exists());
}
