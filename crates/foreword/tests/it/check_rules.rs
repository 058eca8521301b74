//! `check` without an occasion: a template that needs context gets a warning, one that no context can fix is an error.

use serde_json::Value;

use crate::bad_input::expect;
use crate::program::Home;

fn agent(template: &str) -> Home {
    let home = Home::made_for("agent");
    home.write(".agents/prompt/ASSISTANT.md", template);
    home
}

#[test]
fn template_that_needs_context_is_valid() {
    let home = agent(
        "User {{ user_id }}\n{{ ctx.locale }} {{ ctx.user.name }}{% for one in list %}{{ one.name }}{% endfor %}",
    );
    let output = home.succeed(&["check"]);
    expect(
        &output,
        &[
            "warning: `user_id` must come from --context",
            "--> ASSISTANT.md:1:9",
            "warning: `ctx.locale` must come from --context",
            "--> ASSISTANT.md:2:4",
            "`ctx.user.name` must come from --context",
            "`list` must come from --context",
            "0 errors, 4 warnings",
        ],
    );
    let found: Value = home.json(&["--json", "check"]);
    assert_eq!(found["errors"], Value::Array(Vec::new()));
    assert_eq!(found["warnings"][0]["line"], 1);
}

#[test]
fn misspelt_template_name_gets_a_suggestion() {
    expect(&agent("{{ agent_nam }}").succeed(&["check"]), &["did you mean `agent_name`?"]);
}

#[test]
fn template_that_no_context_fixes_is_invalid() {
    for (template, message) in [
        ("{{ user_id }}{% if x", "syntax error"),
        ("{{ user_id }}{% include 'absent.md' %}", "absent.md"),
        ("{{ 1 / 0 }}", "1 / 0"),
        ("{{ nothing() }}", "nothing"),
    ] {
        let ran = agent(template).run(&["check"]);
        assert_eq!(ran.code, 3, "{template}: {}", ran.stdout);
        expect(&ran.stdout, &["error: ", message]);
    }
}

#[test]
fn check_reports_layers_after_a_context_template() {
    let yaml = "\
agent: { blueprint: mine }
prompt: { dialect: jinja }
blueprints:
  mine:
    layers:
      - { id: one, stability: agent, trust: public, source: { template: one.md } }
      - { id: two, stability: agent, trust: public, source: { file: two.md, required: true } }
";
    let home = Home::with(&[("foreword.yaml", yaml), ("one.md", "{{ user_id }}")]);
    let ran = home.run(&["check"]);
    assert_eq!(ran.code, 3, "{}", ran.stdout);
    expect(&ran.stdout, &["`user_id` must come from --context", "no file `two.md`"]);
}

#[test]
fn missing_listed_file_is_reported() {
    let home = Home::with(&[(
        "foreword.yaml",
        "prompt: { files: [{ path: HOUSE.md }, { path: SOUL.md }, { path: NOTES.md, per_user: true }] }\n",
    )]);
    let output = home.succeed(&["check"]);
    expect(&output, &["`prompt.files` lists `HOUSE.md`, but there is no such file", "create `HOUSE.md`"]);
    assert!(!output.contains("SOUL.md`, but") && !output.contains("NOTES.md"), "{output}");
    home.write("HOUSE.md", "x");
    assert!(!home.succeed(&["check"]).contains("HOUSE.md"));
}

#[test]
fn unknown_model_gets_a_suggestion() {
    let home = Home::with(&[("foreword.yaml", "agent: { model: anthropic/claude-sonet-4-5 }\n")]);
    expect(&home.succeed(&["check"]), &["did you mean `anthropic/claude-sonnet-4-5`?"]);
    home.write("foreword.yaml", "agent: { model: ollama/quay-7b }\n");
    expect(&home.succeed(&["check"]), &["add it to `prices`"]);
}

#[test]
fn provider_and_retry_problems_are_readable() {
    let yaml = "\
agent: { model: antropic/claude-sonnet-4-5, limits: { rounds: 0 } }
providers:
  openai:
    base_url: https://alice:s3cret@api.openai.com/v1
    api_key_env: sk-s3cret
    headers: { Authorization: \"Bearer s3cret \" }
  harbour: { dialect: openai }
retry:
  base_delay_ms: 5000
  max_delay_ms: 1000
  retryable_statuses: [200]
";
    let home = Home::with(&[("foreword.yaml", yaml)]);
    let ran = home.run(&["check"]);
    assert_eq!(ran.code, 3);
    let output = format!("{}{}", ran.stdout, ran.stderr);
    assert!(!output.contains("s3cret"), "{output}");
    insta::assert_snapshot!(output.replace(&*home.path().to_string_lossy(), "HOME"));
    let json = home.run(&["--json", "check"]);
    assert!(!format!("{}{}", json.stdout, json.stderr).contains("s3cret"), "{}", json.stdout);
}

#[test]
fn api_key_in_config_works_with_a_warning() {
    let yaml = "\
agent: { model: harbour/quay-7b }
providers:
  harbour: { base_url: \"http://models.example.org/v1\", api_key: s3cret }
prices: [{ id: harbour/quay-7b, context_window: 32768, prices: { input: 0, output: 0 } }]
";
    let home = Home::with(&[("foreword.yaml", yaml)]);
    let printed = home.succeed(&["check"]);
    assert!(!printed.contains("s3cret"), "{printed}");
    insta::assert_snapshot!(printed.replace(&*home.path().to_string_lossy(), "HOME"));
}

#[test]
fn check_warns_about_unreadable_template_file_variables() {
    let home = Home::with(&[
        ("foreword.yaml", "agent: { blueprint: template }\nprompt: { template_file: prompts/system.md }\n"),
        ("prompts/system.md", "Host: [file:/etc/hostname]\n"),
    ]);
    expect(
        &home.succeed(&["check"]),
        &["`[file:/etc/hostname]` counts as missing", "--> prompts/system.md:1:13", "allowed_paths"],
    );
    assert_eq!(home.succeed(&["build", "--format", "text"]).trim_end(), "Host:");
}

#[test]
fn check_lists_every_source_that_fails() {
    let home = Home::with(&[(
        "foreword.yaml",
        "users: [{ name: alice, trust: full, match: [\"terminal:default\"] }]\n",
    )]);
    std::fs::write(home.path().join("TOOLS.md"), [0xff, 0xfe, 0x80]).unwrap();
    std::fs::create_dir(home.path().join("SOUL.md")).unwrap();
    let ran = home.run(&["check"]);
    assert_eq!(ran.code, 3, "{}", ran.stdout);
    expect(&ran.stdout, &["TOOLS.md", "SOUL.md", "it is a directory"]);
    expect(
        &home.succeed(&["status"]),
        &["prompt source failing: SOUL.md", "prompt source failing: TOOLS.md"],
    );
}

#[test]
fn check_warns_about_files_nothing_reads() {
    let home = Home::made_for("gateway");
    let output = home.succeed(&["check"]);
    assert!(!output.contains("nothing reads"), "{output}");
    home.write("USER.md", "Everybody's.\n");
    home.write("memory/2026-11-16.md", "A day.\n");
    home.write("memory/journal/x.md", "A day.\n");
    home.write("users/bbo/USER.md", "Nobody's.\n");
    let output = home.succeed(&["check"]);
    expect(
        &output,
        &[
            "warning: nothing reads `USER.md`",
            "move it to `users/<name>/USER.md`",
            "warning: nothing reads `memory/2026-11-16.md`",
            "memory/private/",
            "warning: nothing reads `memory/journal/`",
            "warning: nothing reads `users/bbo/`",
            "0 errors, 4 warnings",
        ],
    );
    assert!(!output.contains("`SOUL.md`") && !output.contains("`MEMORY.md`"), "{output}");
}
