//! Mistakes in configuration and templates: each is rejected with exit code 3, its file, its line if there is one, and
//! help. Standard output stays empty.

use crate::program::{Home, Ran, refusal};

/// A configuration, the position of its error, the message and the help.
type BadConfig = (&'static str, &'static str, &'static str, &'static str);

const BAD_CONFIGS: [BadConfig; 19] = [
    ("agent: {\n  name: Ada\nusers: }\n", "foreword.yaml:", "", "help: "),
    ("agent:\n\tname: Ada\n", "foreword.yaml:2:", "", "help: "),
    (
        "users:\n  - { name: alice, trust: ful }\n",
        "foreword.yaml:2:27",
        "unknown value `ful`",
        "did you mean `full`?",
    ),
    ("agent:\n  blueprnt: vm\n", "foreword.yaml:2:3", "unknown key `blueprnt`", "did you mean `blueprint`?"),
    ("promt: {}\n", "foreword.yaml:1:1", "unknown key `promt`", "did you mean `prompt`?"),
    (
        "agent: { blueprint: gatewya }\n",
        "foreword.yaml:1:21",
        "no blueprint `gatewya`",
        "did you mean `gateway`?",
    ),
    (
        "agent: { model: echo }\n",
        "foreword.yaml:1:17",
        "model `echo` has no provider prefix",
        "`provider/echo`",
    ),
    ("tools: { disabled: [bsh] }\n", "foreword.yaml:1:21", "no tool `bsh`", "did you mean `bash`?"),
    ("prompt: { budget: { tokens: -5 } }\n", "foreword.yaml:1:", "", "help: "),
    ("prompt: { budget: { tokens: 0 } }\n", "foreword.yaml:1:29", "a budget of 0 tokens", "raise it"),
    (
        "prompt:\n  files:\n    - { path: ../x }\n",
        "foreword.yaml:3:7",
        "`../x`: it leaves",
        "below the workspace",
    ),
    (
        "prompt: { files: [{ path: /etc/passwd }] }\n",
        "foreword.yaml:1:19",
        "it is absolute",
        "below the workspace",
    ),
    (
        "prompt: { files: [{ path: \"a\\0b\" }] }\n",
        "foreword.yaml:1:19",
        "a NUL character",
        "below the workspace",
    ),
    ("agent: {}\nusers: [ {\n", "foreword.yaml:2:10", "unclosed bracket", "correct the YAML"),
    ("prompt: { template_file: ../x }\n", "foreword.yaml:1:26", "`../x`: it leaves", "below the workspace"),
    ("prompt: { template_file: \" \" }\n", "foreword.yaml:1:26", "it is empty", "below the workspace"),
    (
        "prompt:\n  system_prompt:\n    identity_file: /etc/passwd\n",
        "foreword.yaml:3:20",
        "`/etc/passwd`: it is absolute",
        "below the workspace",
    ),
    (
        "prompt: { system_prompt: { custom_instructions_file: \"a\\0b\" } }\n",
        "foreword.yaml:1:54",
        "a NUL character",
        "below the workspace",
    ),
    ("situations:\n  group: { prompt_overlay: ../x }\n", "foreword.yaml:2:", "`../x`", "below the workspace"),
];

const LAYER: &str = "title: A, authority: policy, trust: public, source: { builtin: precedence }";

fn own_blueprint(layers: &str) -> String {
    format!("agent: {{ blueprint: mine }}\nblueprints:\n  mine:\n    layers:\n{layers}")
}

pub(crate) fn expect(printed: &str, parts: &[&str]) {
    for part in parts {
        assert!(printed.contains(part), "no `{part}` in:\n{printed}");
    }
}

fn jinja(text: &str) -> String {
    let home = Home::with(&[
        (
            "foreword.yaml",
            "agent: { blueprint: template }\nprompt: { template_file: t.md, dialect: jinja }\n",
        ),
        ("t.md", text),
        ("one.md", "{% include 'two.md' %}"),
        ("two.md", "\n{% include 'one.md' %}"),
    ]);
    home.refused(3, &["build"])
}

#[test]
fn every_command_rejects_an_invalid_configuration() {
    for (text, place, message, help) in BAD_CONFIGS {
        let home = Home::with(&[("foreword.yaml", text), ("t.md", "")]);
        for args in [&["build"][..], &["explain"], &["diff"], &["render", "t.md"]] {
            expect(&home.refused(3, args), &[&format!("--> {place}"), message, help, "^"]);
        }
        let checked = home.run(&["check"]);
        assert_eq!(checked.code, 3);
        expect(&checked.stdout, &[&format!("--> {place}"), message, help, "1 error, 0 warnings"]);
    }
}

#[test]
fn all_configuration_problems_are_reported() {
    let home = Home::with(&[(
        "foreword.yaml",
        "agent: { blueprint: nothing-like-it }\ntools: { disabled: [bsh] }\nprompt: { files: [{ path: ../x }] }\n",
    )]);
    let output = home.refused(3, &["build"]);
    expect(&output, &["--> foreword.yaml:1:21", "--> foreword.yaml:2:21", "--> foreword.yaml:3:19"]);
    expect(&output, &["use one of gateway, vm, sovereign, template, agent"]);
}

#[test]
fn invalid_blueprint_is_rejected_at_the_layer() {
    let unstable = format!(
        "      - {{ id: late, stability: conversation, {LAYER} }}\n      - {{ id: early, stability: static, {LAYER} }}\n"
    );
    for (layers, parts) in [
        (
            unstable,
            &["foreword.yaml:6:", "layer `early` (static) follows `late`", "move `early` before `late`"][..],
        ),
        (
            format!("      - {{ id: a, stability: statik, {LAYER} }}\n"),
            &["foreword.yaml:5:", "unknown value `statik`", "did you mean `static`?"],
        ),
        (
            format!(
                "      - {{ id: a, stability: static, {} }}\n",
                LAYER.replace("precedence", "presedence")
            ),
            &["foreword.yaml:5:", "there is no built-in text `presedence`", "help: "],
        ),
        (
            format!("      - {{ id: a, stability: static, {} }}\n", LAYER.replace("builtin", "bultin")),
            &["foreword.yaml:5:", "`bultin`", "help: "],
        ),
        (
            format!("      - {{ id: a, stability: static, {LAYER} }}\n").repeat(2),
            &["foreword.yaml:6:", "`a`", "help: "],
        ),
        ("      []\n".to_owned(), &["foreword.yaml:", "help: "]),
    ] {
        let home = Home::with(&[("foreword.yaml", &own_blueprint(&layers))]);
        expect(&home.refused(3, &["build"]), parts);
    }
}

#[test]
fn layer_out_of_cache_order_can_be_allowed() {
    let layers = format!(
        "      - {{ id: late, stability: conversation, {LAYER} }}\n      - {{ id: early, stability: static, {LAYER} }}\n"
    );
    let yaml = own_blueprint(&layers).replace("    layers:", "    allow_cache_unsafe: true\n    layers:");
    let prices = "\
prices:
  - id: local/priced
    breakpoints: explicit
    prices: { input: 1000000, output: 0, cache_read: 0, cache_write_5m: 1000000 }
";
    let home = Home::with(&[("foreword.yaml", &format!("{yaml}{prices}"))]);
    let order = |home: &Home, model: &str| {
        let printed = home.succeed(&["explain", "--model", model]);
        printed.lines().find(|line| line.starts_with("Order")).unwrap().to_owned()
    };
    let line = order(&home, "local/priced");
    expect(&line, &["tokens follow a layer that changes more often"]);
    // A token costs a dollar to write and nothing to read.
    let tokens = line.split_whitespace().nth(1).unwrap();
    expect(&line, &[&format!("; writing them again costs ${tokens}.00 more than reading them")]);
    expect(&order(&home, "nobody/knows"), &["; writing them again costs unknown"]);
}

#[test]
fn path_outside_the_workspace_is_rejected() {
    for source in ["file", "template"] {
        for (path, reason) in [
            ("../x", "it leaves the workspace"),
            ("a/../../x", "it leaves the workspace"),
            ("/etc/passwd", "it is absolute"),
            ("a\\0b", "it holds a NUL character"),
            ("", "it is empty"),
            ("./", "it is empty"),
            ("a/", "it names a folder"),
        ] {
            let layer =
                format!("      - {{ id: a, stability: agent, source: {{ {source}: \"{path}\" }} }}\n");
            let home = Home::with(&[("foreword.yaml", &own_blueprint(&layer))]);
            let output = home.refused(3, &["build"]);
            expect(&output, &["--> foreword.yaml:5:", reason, "name a file below the workspace"]);
        }
    }
    for (path, reason) in
        [("../x", "`..` step"), ("/etc/passwd", "absolute path"), ("a\\0b", "NUL character")]
    {
        let home = Home::with(&[(".agents/prompt/x", "")]);
        home.write(
            "foreword.yaml",
            format!("agent: {{ blueprint: agent }}\nprompt: {{ instruction_file: \"{path}\" }}\n"),
        );
        expect(&home.refused(3, &["build"]), &[reason, "help: "]);
    }
}

#[test]
fn path_spellings_are_equivalent() {
    let yaml = "\
agent: { blueprint: mine }
prompt: { files: [{ path: notes//./house.md, trust: public }, { path: ./a.md, trust: public }] }
blueprints:
  mine:
    layers:
      - { id: files, stability: agent, trust: public, source: { files: { only: [./notes/house.md] } } }
      - { id: rest, stability: agent, trust: public, source: { files: { except: [notes/./house.md] } } }
      - { id: own, stability: agent, trust: public, source: { file: .//notes/./own.md } }
";
    let home = Home::with(&[
        ("foreword.yaml", yaml),
        ("notes/house.md", "house"),
        ("a.md", "letter"),
        ("notes/own.md", "own"),
    ]);
    let text = home.succeed(&["build"]);
    assert_eq!(text, "## notes/house.md\n\nhouse\n\n## a.md\n\nletter\n\nown");
    assert!(home.succeed(&["explain"]).contains(" notes/own.md"));
}

#[test]
fn invalid_template_is_rejected_with_position() {
    expect(&jinja("one\n{% if x"), &["--> t.md:2:", "syntax error"]);
    expect(&jinja("{{ nobody }}"), &["--> t.md:1:4", "unknown variable `nobody`", "known here: "]);
}

#[test]
fn include_cycle_is_refused() {
    expect(
        &jinja("{% include 'one.md' %}"),
        &["include each other", "one.md → two.md → one.md", "--> two.md:2:"],
    );
}

#[test]
fn endless_template_is_a_template_error() {
    for text in [
        "{% for i in range(10**9) %}x{% endfor %}",
        "{{ range(10**9) | list | length }}",
        "{% set n = namespace(s='x') %}{% for i in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor %}{{ n.s }}",
        "{{ '%2147483648s' | format('x') }}",
        "{{ 'x' * 2147483648 }}",
        "{{ 'x' | indent(2147483648, true) }}",
        "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
    ] {
        expect(&jinja(text), &["--> t.md:1:", "help: "]);
    }
}

#[test]
fn oversized_prompt_error_lists_layer_sizes() {
    let home = Home::with(&[(
        "foreword.yaml",
        "agent: { model: offline/tiny }\nprices: [{ id: offline/tiny, context_window: 50 }]\n",
    )]);
    expect(
        &home.refused(3, &["build"]),
        &["the model's context window is ", "`precedence` (", "choose a model with a larger context window"],
    );
}

#[test]
fn oversized_policy_layer_is_rejected() {
    let layers = format!("      - {{ id: law, stability: static, max_tokens: 10, {LAYER} }}\n");
    let home = Home::with(&[("foreword.yaml", &own_blueprint(&layers))]);
    expect(&home.refused(3, &["build"]), &["layer `law` does not fit", "its limit is 10"]);
    let layers = format!("      - {{ id: law, stability: static, {LAYER} }}\n");
    let budget = format!("{}prompt: {{ budget: {{ tokens: 20 }} }}\n", own_blueprint(&layers));
    home.write("foreword.yaml", budget);
    expect(&home.refused(3, &["build"]), &["`law` (", "raise `prompt.budget.tokens`"]);
}

#[test]
fn empty_prompts_root_variable_is_rejected() {
    let home = Home::with(&[("foreword.yaml", "agent: { blueprint: agent }\n")]);
    let output = home.command(&["build"]).env("FOREWORD_PROMPTS_DIR", "").output().unwrap();
    expect(
        &refusal(Ran::of(output), 3, &["build"]),
        &["`FOREWORD_PROMPTS_DIR` is set but empty", "unset it"],
    );
}

#[test]
fn context_file_must_be_a_mapping() {
    let home = Home::with(&[("list.json", "[1]"), ("broken.json", "{\n\"a\": \n"), ("foreword.yaml", "")]);
    expect(&home.refused(2, &["build", "--context-file", "list.json"]), &["list.json", "must be a mapping"]);
    expect(&home.refused(3, &["build", "--context-file", "broken.json"]), &["broken.json:"]);
    expect(&home.refused(1, &["build", "--context-file", "absent.json"]), &["absent.json"]);
}

#[test]
fn unknown_channels_agents_and_models_get_a_suggestion() {
    let home = Home::made_for("gateway");
    let hint = |args: &[&str]| {
        let ran = home.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        ran.stderr
    };
    for (args, expected) in [
        (["build", "--channel", "termnal:default"], "did you mean `terminal:default`?"),
        (["explain", "--channel", "singal:bob"], "did you mean `signal:bob`?"),
        (["build", "--agent", "Asistant"], "did you mean `Assistant`?"),
        (["build", "--model", "antropic/claude-sonnet-4-6"], "did you mean `anthropic`?"),
        (["explain", "--model", "anthropic/claude-sonet-4-6"], "did you mean `anthropic/claude-sonnet-4-6`?"),
        (["build", "--model", "claude-sonnet-4-6"], "did you mean `anthropic/claude-sonnet-4-6`?"),
        (["diff", "--a=channel=termnal:default", "--b=user=bob"], "did you mean `terminal:default`?"),
        (["status", "--channel", "termnal:default"], "did you mean `terminal:default`?"),
    ] {
        let stderr = hint(&args);
        assert!(stderr.contains(expected), "{args:?}: {stderr}");
    }
    let unserved = home.run(&["chat", "--model", "ofline/echo", "hello"]);
    assert!(unserved.stderr.contains("did you mean `offline`?"), "{}", unserved.stderr);
    for known in [["build", "--channel", "signal:bob"], ["build", "--model", "anthropic/claude-sonnet-4-6"]] {
        assert_eq!(hint(&known), "");
    }
    home.write("foreword.yaml", "agents:\n  scribe: { description: Writes. }\n");
    let refused = home.run(&["build", "--agent", "scrib"]);
    assert!(refused.stderr.contains("did you mean `scribe`?"), "{}", refused.stderr);
}
