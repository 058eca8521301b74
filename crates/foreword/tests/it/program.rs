//! A workspace in a temporary directory, and the program run on it. Asserts what is true of every run: a refused
//! command prints to standard error only.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The users of most tests: alice is the owner, bob has trust inner, carol familiar, mallory is unknown.
pub(crate) const PEOPLE: &str = "\
users:
  - { name: alice, trust: full, match: [\"terminal:default\"] }
  - { name: bob, trust: inner, match: [\"signal:bob\"] }
  - { name: carol, trust: familiar, match: [\"signal:carol\"] }
";

/// A workspace; the rest of the temporary directory is outside.
pub(crate) struct Home {
    base: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        fs::create_dir(base.path().join("home")).unwrap();
        Self { base }
    }

    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let home = Self::new();
        for (path, text) in files {
            home.write(path, text);
        }
        home
    }

    /// A workspace created by `foreword init`.
    pub(crate) fn made_for(blueprint: &str) -> Self {
        let home = Self::new();
        home.succeed(&["init", "--blueprint", blueprint]);
        home
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.base.path().join("home")
    }

    pub(crate) fn outside(&self) -> &Path {
        self.base.path()
    }

    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.path().join(path)).unwrap();
    }

    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    /// The program in this workspace, without the environment of the test run.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foreword"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("FOREWORD_") {
                command.env_remove(name);
            }
        }
        command.current_dir(self.path()).args(args).env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    /// Runs the program with standard input.
    pub(crate) fn run_with_input(&self, args: &[&str], input: &[u8]) -> Ran {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that closes standard input early is not an error here.
        let _ = child.stdin.take().unwrap().write_all(input);
        Ran::of(child.wait_with_output().unwrap())
    }

    /// The standard output of a run that must succeed.
    pub(crate) fn succeed(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "{args:?} failed: {}", ran.stderr);
        ran.stdout
    }

    /// The output of a run that must succeed, as JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let text = self.succeed(args);
        serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{args:?} printed no JSON: {error}\n{text}"))
    }

    /// Runs a command that must fail with `code`, without standard output and with help on standard error.
    pub(crate) fn refused(&self, code: i32, args: &[&str]) -> String {
        refusal(self.run(args), code, args)
    }

    /// The paths below the workspace, sorted; folders end in `/`.
    pub(crate) fn listing(&self) -> Vec<String> {
        let mut out = Vec::new();
        list(&self.path(), "", &mut out);
        out.sort();
        out
    }
}

/// Checks a run that must end with `code`, and returns its standard error.
pub(crate) fn refusal(ran: Ran, code: i32, args: &[&str]) -> String {
    assert_eq!(ran.code, code, "{args:?}: {}\n{}", ran.stderr, ran.stdout);
    assert_eq!(ran.stdout, "", "{args:?} printed half an answer");
    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("help: "), "{args:?} shows no help: {}", ran.stderr);
    ran.stderr
}

fn list(folder: &Path, prefix: &str, out: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            list(&entry.path(), &format!("{name}/"), out);
            out.push(format!("{name}/"));
        } else {
            out.push(name);
        }
    }
}

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or_else(|| panic!("ended by a signal: {:?}", output.status)),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The layer with `id` in a report.
pub(crate) fn layer<'a>(report: &'a Value, id: &str) -> Option<&'a Value> {
    report["layers"].as_array().unwrap().iter().find(|layer| layer["id"] == id)
}

/// The text of the layer with `id`.
pub(crate) fn layer_text<'a>(report: &'a Value, id: &str) -> Option<&'a str> {
    let range = &layer(report, id)?["range"];
    let [from, to] = [&range[0], &range[1]].map(|at| usize::try_from(at.as_u64().unwrap()).unwrap());
    Some(&report["text"].as_str().unwrap()[from..to])
}

/// The codes of a report's warnings.
pub(crate) fn warning_codes(report: &Value) -> Vec<&str> {
    report["warnings"].as_array().unwrap().iter().map(|warning| warning["code"].as_str().unwrap()).collect()
}
