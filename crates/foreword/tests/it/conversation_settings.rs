//! Conversation settings from the command line: `foreword chat` stores them, later commands use them.

use std::fs;

use crate::program::Home;

const CONFIG: &str = "agent: { blueprint: agent, model: offline/echo }\n";
const INSTRUCTIONS: &str = "In {{ ctx.locale | default('en') }}.\n";

fn home() -> Home {
    Home::with(&[("foreword.yaml", CONFIG), (".agents/prompt/ASSISTANT.md", INSTRUCTIONS)])
}

fn build(home: &Home) -> String {
    home.succeed(&["build", "--conversation", "c-1"])
}

#[test]
fn chat_stores_settings_and_build_uses_them() {
    let home = home();
    home.write("values.yaml", "locale: pt\nplace: here\n");
    let chat = |more: &[&str]| home.succeed(&[&["chat", "--conversation", "c-1"], more, &["hello"]].concat());
    chat(&["--session-instructions", "Be brief.", "--context-file", "values.yaml", "--context", "locale=fr"]);
    let built = build(&home);
    assert!(built.contains("In fr.") && built.contains("## Session Instructions\n\nBe brief."), "{built}");
    // Without flags the settings stay; each flag changes one.
    chat(&[]);
    assert_eq!(build(&home), built);
    chat(&["--session-instructions", "Be polite."]);
    let changed = build(&home);
    assert!(changed.contains("In fr.") && changed.contains("Be polite."), "{changed}");
    let other = home.succeed(&["build", "--conversation", "c-1", "--session-instructions", "Be loud."]);
    assert!(other.contains("Be loud.") && !other.contains("Be polite."), "{other}");
    assert!(!home.succeed(&["build"]).contains("Be polite."));
}

#[test]
fn chat_works_in_its_starting_directory() {
    let home = home();
    home.write(
        "foreword.yaml",
        "agent: { blueprint: template, model: offline/echo }\nprompt: { template_file: t }\n",
    );
    home.write("t", "In [prompt:cwd].");
    home.write("site/page.html", "");
    let mut command = home.command(&["chat", "--conversation", "c-1", "hello"]);
    let workspace = home.path();
    let ran =
        command.env("FOREWORD_WORKSPACE", &workspace).current_dir(workspace.join("site")).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let site = workspace.canonicalize().unwrap().join("site");
    assert_eq!(build(&home), format!("In {}.", site.display()));
    // Outside the allowed roots the conversation works in the workspace.
    fs::create_dir(home.outside().join("elsewhere")).unwrap();
    let mut command = home.command(&["chat", "--conversation", "c-2", "hello"]);
    command.env("FOREWORD_WORKSPACE", &workspace).current_dir(home.outside().join("elsewhere"));
    assert!(command.output().unwrap().status.success());
    let built = home.succeed(&["build", "--conversation", "c-2"]);
    assert!(!built.contains("elsewhere") && built.ends_with("home."), "{built}");
}

#[test]
fn directory_outside_the_workspace_needs_a_root() {
    let home = home();
    let elsewhere = home.outside().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let path = elsewhere.to_str().unwrap();
    let refused = home.run(&["chat", "--conversation", "c-1", "--cwd", path, "hello"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("conversations.cwd_roots") && refused.stderr.contains("home`"),
        "{}",
        refused.stderr
    );
    home.write("foreword.yaml", format!("{CONFIG}conversations: {{ cwd_roots: ['{path}'] }}\n"));
    home.succeed(&["chat", "--conversation", "c-1", "--cwd", path, "hello"]);
}

#[test]
fn workflows_run_takes_the_settings_of_its_conversation() {
    let home = home();
    home.write("workflows/greet.yaml", "name: greet\ndescription: Greets.\nsteps:\n  - prompt: Say hello.\n");
    home.succeed(&[
        "workflows",
        "run",
        "greet",
        "--session-instructions",
        "Be brief.",
        "--context",
        "locale=fr",
    ]);
    let runs = home.json(&["--json", "workflows", "runs"]);
    let conversation = format!("workflow-{}", runs["runs"][0]["run"].as_str().unwrap());
    let built = home.succeed(&["build", "--conversation", &conversation]);
    assert!(built.contains("In fr.") && built.contains("## Session Instructions\n\nBe brief."), "{built}");
    let refused = home.refused(2, &["workflows", "run", "greet", "--cwd", "/etc"]);
    assert!(refused.contains("conversations.cwd_roots"), "{refused}");
}

#[test]
fn check_warns_of_unusable_directories() {
    let home = home();
    home.write(
        "foreword.yaml",
        format!("{CONFIG}schedules:\n  morning: {{ cron: '@daily', prompt: Hello, cwd: /etc }}\n"),
    );
    home.write(
        "workflows/greet.yaml",
        "name: greet\ndescription: Greets.\ncwd: gone\nsteps:\n  - prompt: Say hello.\n",
    );
    let checked = home.run(&["check"]);
    let text = format!("{}{}", checked.stdout, checked.stderr);
    assert!(text.contains("schedule `morning`: the working directory `/etc` is neither"), "{text}");
    assert!(text.contains("workflow `greet`: ") && text.contains("`gone`"), "{text}");
}
