//! Seed 003: one template in bracket syntax for all conversations. Sections 2, 3 and 5, through `build` and `render`.

use std::process::Command;

use serde::Deserialize;

use crate::program::{Home, warning_codes};

const COMPAT: &str = include_str!("../fixtures/bracket_compat.yaml");

#[derive(Deserialize)]
struct Compat {
    cases: Vec<CompatCase>,
}

#[derive(Deserialize)]
struct CompatCase {
    r#in: String,
    out: String,
}

fn template(text: &str) -> Home {
    Home::with(&[
        ("foreword.yaml", "agent: { blueprint: template }\nprompt: { template_file: prompts/system.md }\n"),
        ("prompts/system.md", text),
    ])
}

fn render(home: &Home, text: &str) -> String {
    let ran = home.run_with_input(&["render", "-"], text.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.stdout
}

fn git(home: &Home, args: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=alice", "-c", "user.email=alice@example.org"]).args(args);
    let output = command.current_dir(home.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn default_template_is_used_when_none_is_configured() {
    let home = Home::with(&[("foreword.yaml", "agent: { blueprint: template }\n")]);
    let cwd = home.path().canonicalize().unwrap();
    let end = format!("The current working directory is {}.", cwd.display());
    assert_eq!(home.succeed(&["build"]), format!("You are a helpful coding assistant.\n\n{end}"));
    home.write("AGENTS.md", "Rules.");
    assert_eq!(home.succeed(&["build"]), format!("You are a helpful coding assistant.\n\nRules.\n\n{end}"));
}

#[test]
fn empty_template_sends_nothing() {
    let home = template("");
    assert_eq!(home.succeed(&["build"]), "");
    let report = home.json(&["build", "--format", "json"]);
    assert_eq!(
        (&report["system"], &report["turn_context"]),
        (&serde_json::json!([]), &serde_json::Value::Null)
    );
    assert_eq!(home.json(&["build", "--format", "anthropic"]).get("system"), None);
    assert_eq!(home.json(&["build", "--format", "openai"])["messages"], serde_json::json!([]));
}

#[test]
fn every_variable_of_the_table_has_its_value() {
    let home = template("");
    let cwd = home.path().canonicalize().unwrap();
    assert_eq!(render(&home, "[prompt:cwd]"), cwd.to_str().unwrap());
    assert_eq!(render(&home, "[prompt:model]"), "offline/echo");
    assert_eq!(render(&home, "[system:os]"), std::env::consts::OS);
    let time = render(&home, "[system:time]");
    assert!(time.ends_with('Z') && time.as_bytes()[10] == b'T', "{time}");
    let date = render(&home, "[system:date]");
    assert!(date.len() == 10 && date.as_bytes()[4] == b'-', "{date}");
    assert!(!render(&home, "[system:hostname]").contains('\n'));
    home.write("prompts/system.md", "[prompt:conversation_id]|[prompt:model]");
    assert_eq!(home.succeed(&["build", "--conversation", "c-7", "--model", "x/y"]), "c-7|x/y");
    assert_eq!(home.succeed(&["build"]), "|offline/echo", "a known variable without a value is blank");
}

#[test]
fn git_variables_exist_only_in_a_repository() {
    let home = template("");
    let text = "[if git:branch]on [git:branch]: [git:status][else]no repository[endif]";
    assert_eq!(render(&home, text), "no repository");
    git(&home, &["init", "-q", "-b", "trunk"]);
    git(&home, &["add", "foreword.yaml"]);
    git(&home, &["commit", "-q", "-m", "Begin"]);
    assert_eq!(render(&home, text), "on trunk: ?? prompts/");
    std::fs::remove_dir_all(home.path().join("prompts")).unwrap();
    assert_eq!(render(&home, "[if git:status]clean is no absence[endif]"), "clean is no absence");
}

#[test]
fn file_values_are_not_expanded_again() {
    let home = template("[file:note.md]");
    home.write("note.md", "At home: [system:os]");
    home.write("project/note.md", "In the project.");
    assert_eq!(home.succeed(&["build"]), "At home: [system:os]");
    assert_eq!(home.succeed(&["build", "--cwd", "project"]), "In the project.");
}

#[test]
fn file_variable_uses_the_guarded_root() {
    let home = template("");
    std::fs::write(home.outside().join("secret"), "secret").unwrap();
    home.link("link", home.outside().join("secret"));
    for path in ["../secret", "link", "/etc/passwd", "prompts"] {
        let text = format!("The path {path} in prose.\n\nNow [ file: {path} ]");
        let ran = home.run_with_input(&["render", "-"], text.as_bytes());
        let expected = format!("The path {path} in prose.\n\nNow ");
        assert_eq!((ran.code, ran.stdout), (0, expected), "{path}");
        let warning = format!("warning: <stdin>:3:13: `[file:{path}]` counts as missing");
        assert!(ran.stderr.starts_with(&warning), "the tag, not the prose: {}", ran.stderr);
    }
}

#[test]
fn absolute_path_needs_permission() {
    let home = template("");
    let allowed = home.outside().canonicalize().unwrap().join("allowed.md");
    std::fs::write(&allowed, "allowed text").unwrap();
    home.write("prompts/system.md", format!("[file:{}]", allowed.display()));
    let built = home.run(&["build"]);
    assert_eq!((built.code, built.stdout.as_str()), (0, ""));
    assert!(built.stderr.contains("it is an absolute path"), "{}", built.stderr);
    home.write(
        "foreword.yaml",
        format!(
            "agent: {{ blueprint: template }}\nprompt: {{ template_file: prompts/system.md, allowed_paths: [\"{}\"] }}\n",
            allowed.display()
        ),
    );
    assert_eq!(home.succeed(&["build"]), "allowed text");
}

#[test]
fn file_variable_does_not_bypass_trust() {
    let home = template("[if file:MEMORY.md][file:MEMORY.md][else]nothing[endif]|[file:memory/social/a.md]");
    home.write("MEMORY.md", "for the owner");
    home.write("memory/social/a.md", "for all");
    let config = "agent: { blueprint: template }\nprompt: { template_file: prompts/system.md }\n";
    home.write("foreword.yaml", format!("{}{config}", crate::program::PEOPLE));
    assert_eq!(home.succeed(&["build", "--user", "alice"]), "for the owner|for all");
    assert_eq!(home.succeed(&["build", "--user", "bob"]), "nothing|for all");
    assert_eq!(home.succeed(&["build", "--user", "mallory"]), "nothing|");
    let report = home.json(&["build", "--format", "json", "--user", "bob"]);
    assert!(!report.to_string().contains("MEMORY.md"), "{report}");
    let explained = home.json(&["--json", "explain", "--user", "bob"]);
    assert_eq!(warning_codes(&explained), ["file_withheld"]);
}

#[test]
fn conditions_nest_and_test_existence() {
    let home = template("");
    home.write("A", "x");
    home.write("E", "");
    for (text, expected) in [
        ("[if file:E]there[else]not[endif]", "there"),
        ("[if !file:N]a[if file:A]b[else]c[endif]d[endif]", "abd"),
        ("[if file:N]\na\n[else]\nb\n[endif]", "\nb\n"),
        ("[if file:A]never closed [file:A]", "[if file:A]never closed x"),
        ("[endif] [else]", "[endif] [else]"),
        ("[[file:A]", "[file:A]"),
    ] {
        assert_eq!(render(&home, text), expected, "{text}");
    }
}

#[test]
fn unknown_type_stays_text_with_a_suggestion() {
    let home = template("[NOTE: be kind]\nToday: [sytem:date], [link](x:y), [::1]");
    let ran = home.run(&["build"]);
    assert_eq!(ran.stdout, "[NOTE: be kind]\nToday: [sytem:date], [link](x:y), [::1]");
    assert!(
        ran.stderr.contains("prompts/system.md:2:9: unknown variable type `sytem`")
            && ran.stderr.contains("did you mean `system:date`?"),
        "{}",
        ran.stderr
    );
    let check = home.run(&["check"]);
    assert_eq!(check.code, 0, "a warning refuses nothing");
    assert!(check.stdout.contains("--> prompts/system.md:2:9"), "{}", check.stdout);
}

#[test]
fn rendering_writes_exactly_the_bytes() {
    let home = template("");
    for text in ["", "no line end", "one\n", "\n\n  spaces  \n\n", "ünï[[cödé]"] {
        assert_eq!(render(&home, text), text.replace("[[", "["));
    }
}

#[test]
fn template_ignores_windows_line_ends_and_bom() {
    let home = template("\u{feff}one\r\n[if system:os]\r\ntwo\r\n[endif]\r\n");
    assert_eq!(home.succeed(&["build"]), "one\n\ntwo\n\n");
    assert_eq!(home.succeed(&["render", "prompts/system.md"]), "one\n\ntwo\n\n");
    assert_eq!(render(&home, "\u{feff}one\r\ntwo\r"), "one\ntwo\n");
}

#[test]
fn bracket_compat_matches_the_seeds_bytes() {
    let home = template("");
    // `system:os` is `linux` on every platform of these tests; `file:N` and `file:missing` do not exist.
    for (path, text) in [("A", "x"), ("B", "y"), ("E", ""), ("T", "[system:os]")] {
        home.write(path, text);
    }
    let cases = serde_saphyr::from_str::<Compat>(COMPAT).unwrap().cases;
    assert!(cases.len() >= 22);
    for case in cases {
        home.write("case.md", &case.r#in);
        let out = case.out.replace("linux", std::env::consts::OS);
        assert_eq!(home.succeed(&["render", "case.md", "--dialect", "bracket-compat"]), out, "{}", case.r#in);
    }
}

#[test]
fn bracket_compat_unreadable_file_affects_no_other() {
    let home = template("");
    home.write("A", "x");
    let ran = home.run_with_input(
        &["render", "-", "--dialect", "bracket-compat"],
        b"[file:A]|[file:../out]|[file:/etc/passwd]|[file:prompts]|[if file:../out]yes[else]no[endif]",
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "x||||no"), "{}", ran.stderr);
}

#[test]
fn working_directory_does_not_bypass_file_rules() {
    let home = template("<[file:AGENTS.md]>");
    let known = "users: [{ name: carol, trust: familiar }]";
    home.write(
        "foreword.yaml",
        format!("agent: {{ blueprint: template }}\nprompt: {{ template_file: prompts/system.md }}\n{known}"),
    );
    home.write("AGENTS.md", "for the known");
    home.write("memory/private/AGENTS.md", "for the owner");
    let cwd = home.path().join("memory/private");
    let cwd = cwd.to_str().unwrap();
    assert_eq!(home.run(&["build", "--user", "carol"]).stdout, "<for the known>");
    assert_eq!(home.run(&["build", "--user", "carol", "--cwd", cwd]).stdout, "<>");
}

#[test]
fn maps_in_context_keep_their_order() {
    let home = Home::new();
    home.write(
        "t.md",
        "{% for key in m %}{{ key }} {% endfor %}{% for key, value in m.z|items %}{{ key }}{% endfor %}\n",
    );
    home.write("context.yaml", "m:\n  z: { b: 1, a: 2 }\n  y: 1\n  x: 2\n");
    let args = ["render", "t.md", "--dialect", "jinja"];
    let inline = r#"m={"z":{"b":1,"a":2},"y":1,"x":2}"#;
    assert_eq!(home.succeed(&[&args[..], &["--context", inline]].concat()), "z y x ba\n");
    assert_eq!(home.succeed(&[&args[..], &["--context-file", "context.yaml"]].concat()), "z y x ba\n");
}

#[test]
fn instructions_are_trimmed() {
    let home = Home::made_for("agent");
    home.write(".agents/prompt/ASSISTANT.md", "\n\n  You are {{ agent_name }}.  \n\n");
    assert_eq!(home.succeed(&["build"]).trim_end_matches('\n'), "You are Assistant.");
    home.write(
        "foreword.yaml",
        "agent: { blueprint: agent }\nprompt: { instructions: \"\\n You are kind. \\n\" }\n",
    );
    let built = home.json(&["build", "--format", "anthropic"]);
    assert_eq!(built["system"][0]["text"], "You are kind.", "{built}");
}

#[test]
fn configured_paths_may_begin_at_home() {
    let home = Home::new();
    let yaml =
        "agent: { blueprint: agent }\nprompt: { prompts_dir: ~/prompts }\nstore: { url: ~/data/x.db }\n";
    home.write("foreword.yaml", yaml);
    let outside = home.outside().to_owned();
    std::fs::create_dir_all(outside.join("prompts")).unwrap();
    std::fs::write(outside.join("prompts/ASSISTANT.md"), "Home.").unwrap();
    let run = |args: &[&str]| home.command(args).env("HOME", &outside).output().unwrap();
    let built = run(&["build"]);
    assert_eq!(String::from_utf8_lossy(&built.stdout).trim_end(), "Home.", "{built:?}");
    assert!(run(&["chat", "hello"]).status.success());
    assert!(outside.join("data/x.db").is_file());
}
