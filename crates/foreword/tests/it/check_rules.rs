//! `check` before anybody builds: what only an occasion can bring is a warning, what no occasion can mend is an error.

use serde_json::Value;

use crate::bad_input::expect;
use crate::program::Home;

fn agent(template: &str) -> Home {
    let home = Home::made_for("agent");
    home.write(".agents/prompt/ASSISTANT.md", template);
    home
}

#[test]
fn a_template_that_takes_context_is_a_good_one() {
    let home = agent(
        "User {{ user_id }}\n{{ ctx.locale }} {{ ctx.user.name }}{% for one in list %}{{ one.name }}{% endfor %}",
    );
    let told = home.succeed(&["check"]);
    expect(
        &told,
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
fn a_misspelt_name_in_a_template_gets_its_suggestion() {
    expect(&agent("{{ agent_nam }}").succeed(&["check"]), &["did you mean `agent_name`?"]);
}

#[test]
fn a_template_that_no_context_can_mend_stays_refused() {
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
fn what_is_wrong_in_the_next_layer_is_told_behind_a_template_that_takes_context() {
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
fn a_listed_file_that_is_not_there_is_told() {
    let home = Home::with(&[(
        "foreword.yaml",
        "prompt: { files: [{ path: HOUSE.md }, { path: SOUL.md }, { path: NOTES.md, per_user: true }] }\n",
    )]);
    let told = home.succeed(&["check"]);
    expect(&told, &["`prompt.files` lists `HOUSE.md`, but there is no such file", "create `HOUSE.md`"]);
    assert!(!told.contains("SOUL.md`, but") && !told.contains("NOTES.md"), "{told}");
    home.write("HOUSE.md", "x");
    assert!(!home.succeed(&["check"]).contains("HOUSE.md"));
}

#[test]
fn a_model_nobody_knows_gets_the_nearest_one() {
    let home = Home::with(&[("foreword.yaml", "agent: { model: anthropic/claude-sonet-4-5 }\n")]);
    expect(&home.succeed(&["check"]), &["did you mean `anthropic/claude-sonnet-4-5`?"]);
    home.write("foreword.yaml", "agent: { model: ollama/quay-7b }\n");
    expect(&home.succeed(&["check"]), &["add it to `prices`"]);
}

#[test]
fn what_is_wrong_about_providers_and_retries_is_told_as_people_read_it() {
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
    let told = format!("{}{}", ran.stdout, ran.stderr);
    assert!(!told.contains("s3cret"), "{told}");
    insta::assert_snapshot!(told.replace(&*home.path().to_string_lossy(), "HOME"));
    let json = home.run(&["--json", "check"]);
    assert!(!format!("{}{}", json.stdout, json.stderr).contains("s3cret"), "{}", json.stdout);
}

#[test]
fn a_key_in_the_file_works_and_is_noted_without_being_shown() {
    let yaml = "\
agent: { model: harbour/quay-7b }
providers:
  harbour: { base_url: \"http://models.example.org/v1\", api_key: s3cret }
prices: [{ id: harbour/quay-7b, context_window: 32768, prices: { input: 0, output: 0 } }]
";
    let home = Home::with(&[("foreword.yaml", yaml)]);
    let told = home.succeed(&["check"]);
    assert!(!told.contains("s3cret"), "{told}");
    insta::assert_snapshot!(told.replace(&*home.path().to_string_lossy(), "HOME"));
}

#[test]
fn check_warns_about_a_template_file_variable_that_cannot_be_read() {
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
fn known_files_that_nothing_reads_are_listed() {
    let home = Home::made_for("gateway");
    let told = home.succeed(&["check"]);
    assert!(!told.contains("nothing reads"), "{told}");
    home.write("USER.md", "Everybody's.\n");
    home.write("memory/2026-11-16.md", "A day.\n");
    home.write("memory/journal/x.md", "A day.\n");
    home.write("users/bbo/USER.md", "Nobody's.\n");
    let told = home.succeed(&["check"]);
    expect(
        &told,
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
    assert!(!told.contains("`SOUL.md`") && !told.contains("`MEMORY.md`"), "{told}");
}
