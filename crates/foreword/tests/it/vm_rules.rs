//! Seed 001, section 13: the prompt of an agent on its own machine. Scenarios S13.1 to S13.6; `foreword-workspace`
//! tests S13.7, where a workspace lives between two prompts.

use crate::program::{Home, layer, layer_text};

const CONFIG: &str = "\
agent: { blueprint: vm }
prompt:
  system_prompt:
    identity_file: IDENTITY.md
    custom_instructions_file: instructions.md
";
const WORKFLOW: &str = "\
name: disk-report
description: Find out what fills a disk.
parameters:
  - { name: path, type: string, description: Where to look., required: true }
  - { name: top, type: integer, description: How many., required: false }
steps:
  - prompt: Measure it.
";

fn machine() -> Home {
    Home::with(&[
        ("foreword.yaml", CONFIG),
        ("IDENTITY.md", "You keep this machine."),
        ("instructions.md", "Sizes in GB."),
        ("workflows/disk-report.yaml", WORKFLOW),
    ])
}

fn order(prompt: &str, parts: &[&str]) -> Vec<usize> {
    parts.iter().map(|part| prompt.find(part).unwrap_or_else(|| panic!("no `{part}` in {prompt}"))).collect()
}

#[test]
fn s13_1_prompt_includes_the_configured_identity() {
    let home = machine();
    assert!(home.succeed(&["build"]).starts_with("You keep this machine.\n\n"));
    let inline = CONFIG.replace("    identity_file: IDENTITY.md", "    identity: You are written inline.");
    home.write("foreword.yaml", inline);
    assert!(home.succeed(&["build"]).starts_with("You are written inline.\n\n"));
}

#[test]
fn s13_1_missing_identity_file_uses_built_in_identity() {
    let home = machine();
    home.remove("IDENTITY.md");
    let ran = home.run(&["build"]);
    assert!(ran.stdout.starts_with("You are "), "{}", ran.stdout);
    assert!(ran.stderr.contains("there is nothing in `IDENTITY.md`"), "{}", ran.stderr);
}

#[test]
fn s13_2_every_tool_is_described_with_its_parameters() {
    let report = machine().json(&["build", "--format", "json"]);
    let tools = layer_text(&report, "tools").unwrap();
    assert!(tools.trim_start().starts_with("## Available Tools\n\n"), "{tools}");
    for tool in
        ["bash", "memory_get", "memory_search", "memory_write", "read_file", "skill_get", "write_file"]
    {
        assert!(tools.contains(&format!("- **{tool}**: ")), "{tool} is not described");
    }
    assert!(tools.contains("\n  - `command` (string): "), "{tools}");
    assert!(tools.contains("\n  - `from` (integer, optional): "), "{tools}");
}

#[test]
fn s13_2_tool_is_described_only_to_permitted_users() {
    let home = machine();
    home.write("foreword.yaml", format!("{}{CONFIG}", crate::program::PEOPLE));
    assert!(home.succeed(&["build", "--user", "alice"]).contains("- **bash**"));
    assert!(!home.succeed(&["build", "--user", "bob"]).contains("- **bash**"));
    let stranger = home.succeed(&["build", "--user", "mallory"]);
    assert!(!stranger.contains("Available Tools"), "a bare heading: {stranger}");
}

#[test]
fn s13_3_configured_workflows_are_listed() {
    let home = machine();
    let line = "- **disk-report** (path, top?): Find out what fills a disk.";
    assert!(home.succeed(&["build"]).contains(&format!("## Available Workflows\n\n{line}\n")));
    home.remove("workflows/disk-report.yaml");
    assert!(!home.succeed(&["build"]).contains("Available Workflows"));
}

#[test]
fn s13_3_invalid_workflow_is_skipped_and_reported() {
    let home = machine();
    home.write("workflows/broken.yaml", "name: broken\nstep: []\n");
    let prompt = home.succeed(&["build"]);
    assert!(prompt.contains("disk-report") && !prompt.contains("broken"), "{prompt}");
    let ran = home.run(&["check"]);
    assert_eq!(ran.code, 3);
    assert!(ran.stdout.contains("--> workflows/broken.yaml:2:1"), "{}", ran.stdout);
}

#[test]
fn s13_4_session_instructions_are_appended() {
    let home = machine();
    let with = home.succeed(&["build", "--session-instructions", "Only look, change nothing."]);
    assert!(with.contains("## Session Instructions\n\nOnly look, change nothing."), "{with}");
    for without in [&["build"][..], &["build", "--session-instructions", " "]] {
        assert!(!home.succeed(without).contains("Session Instructions"), "{without:?}");
    }
}

#[test]
fn s13_5_custom_instructions_are_appended_last() {
    let prompt = machine().succeed(&["build", "--session-instructions", "For this session."]);
    assert!(prompt.ends_with("\n\nSizes in GB."), "{prompt}");
    let parts = [
        "You keep this machine.",
        "## Available Tools",
        "## Available Workflows",
        "For this session.",
        "Sizes",
    ];
    assert!(order(&prompt, &parts).is_sorted(), "{prompt}");
}

#[test]
fn s13_6_missing_custom_instructions_are_allowed() {
    let home = machine();
    home.remove("instructions.md");
    let ran = home.run(&["build"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.ends_with("those with `?` may be left out."), "{}", ran.stdout);
    let report = home.json(&["--json", "explain"]);
    assert_eq!(layer(&report, "custom").unwrap()["status"], "absent");
}

#[test]
fn s13_7_disabled_tool_is_not_in_the_prompt() {
    let home = machine();
    assert!(home.succeed(&["build"]).contains("- **bash**"));
    home.write("foreword.yaml", format!("{CONFIG}tools: {{ disabled: [bash] }}\n"));
    let prompt = home.succeed(&["build"]);
    assert!(!prompt.contains("**bash**") && prompt.contains("**read_file**"), "{prompt}");
}
