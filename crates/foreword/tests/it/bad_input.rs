//! Whatever can be wrong with what people write in configuration and templates: each refused with exit code 3, with
//! the file, the line where there is one, and a way out; and nothing on standard output.

use crate::program::{Home, Ran, refusal};

/// A configuration, where it goes wrong, what is said about it, and the way out.
type BadConfig = (&'static str, &'static str, &'static str, &'static str);

const BAD_CONFIGS: [BadConfig; 19] = [
    ("agent: {\n  name: Ada\nusers: }\n", "foreword.yaml:", "", "help: "),
    ("agent:\n\tname: Ada\n", "foreword.yaml:2:", "", "help: "),
    (
        "users:\n  - { name: alice, trust: ful }\n",
        "foreword.yaml:2:27",
        "unknown word `ful`",
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
    ("agent: { model: echo }\n", "foreword.yaml:1:17", "model `echo` names no provider", "`provider/echo`"),
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

pub(crate) fn expect(told: &str, parts: &[&str]) {
    for part in parts {
        assert!(told.contains(part), "no `{part}` in:\n{told}");
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
fn a_configuration_that_is_wrong_is_refused_at_its_line_by_every_command() {
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
fn every_problem_of_a_configuration_is_told_at_once() {
    let home = Home::with(&[(
        "foreword.yaml",
        "agent: { blueprint: nothing-like-it }\ntools: { disabled: [bsh] }\nprompt: { files: [{ path: ../x }] }\n",
    )]);
    let told = home.refused(3, &["build"]);
    expect(&told, &["--> foreword.yaml:1:21", "--> foreword.yaml:2:21", "--> foreword.yaml:3:19"]);
    expect(&told, &["use one of gateway, vm, sovereign, template, agent"]);
}

#[test]
fn a_blueprint_that_is_wrong_is_refused_at_the_layer() {
    let unstable = format!(
        "      - {{ id: late, stability: conversation, {LAYER} }}\n      - {{ id: early, stability: static, {LAYER} }}\n"
    );
    for (layers, parts) in [
        (
            unstable,
            &[
                "foreword.yaml:6:",
                "layer `early` (static) stands behind `late`",
                "move `early` before `late`",
            ][..],
        ),
        (
            format!("      - {{ id: a, stability: statik, {LAYER} }}\n"),
            &["foreword.yaml:5:", "unknown word `statik`", "did you mean `static`?"],
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
fn a_layer_out_of_cache_order_is_let_in_when_its_author_insists() {
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
        let told = home.succeed(&["explain", "--model", model]);
        told.lines().find(|line| line.starts_with("Order")).unwrap().to_owned()
    };
    let line = order(&home, "local/priced");
    expect(&line, &["tokens stand behind a layer that changes more often"]);
    // A token costs a dollar to write and nothing to read.
    let tokens = line.split_whitespace().nth(1).unwrap();
    expect(&line, &[&format!("; writing them again costs ${tokens}.00 more than reading them")]);
    expect(&order(&home, "nobody/knows"), &["; writing them again costs unknown"]);
}

#[test]
fn a_path_that_leaves_the_workspace_is_refused_wherever_it_is_written() {
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
            let told = home.refused(3, &["build"]);
            expect(&told, &["--> foreword.yaml:5:", reason, "name a file below the workspace"]);
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
fn a_path_is_the_same_however_it_is_spelt() {
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
fn a_template_that_does_not_parse_is_refused_at_its_place() {
    expect(&jinja("one\n{% if x"), &["--> t.md:2:", "syntax error"]);
    expect(&jinja("{{ nobody }}"), &["--> t.md:1:4", "unknown variable `nobody`", "known here: "]);
}

#[test]
fn a_loop_of_includes_is_refused() {
    expect(
        &jinja("{% include 'one.md' %}"),
        &["include each other", "one.md → two.md → one.md", "--> two.md:2:"],
    );
}

#[test]
fn a_template_that_runs_away_ends_as_a_template_error() {
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
fn a_prompt_larger_than_the_models_window_is_refused_with_the_layers_and_their_sizes() {
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
fn a_policy_layer_over_its_budget_is_refused_and_never_cut() {
    let layers = format!("      - {{ id: law, stability: static, max_tokens: 10, {LAYER} }}\n");
    let home = Home::with(&[("foreword.yaml", &own_blueprint(&layers))]);
    expect(&home.refused(3, &["build"]), &["layer `law` does not fit", "its limit is 10"]);
    let layers = format!("      - {{ id: law, stability: static, {LAYER} }}\n");
    let budget = format!("{}prompt: {{ budget: {{ tokens: 20 }} }}\n", own_blueprint(&layers));
    home.write("foreword.yaml", budget);
    expect(&home.refused(3, &["build"]), &["`law` (", "raise `prompt.budget.tokens`"]);
}

#[test]
fn a_prompts_root_variable_that_is_set_but_empty_is_refused() {
    let home = Home::with(&[("foreword.yaml", "agent: { blueprint: agent }\n")]);
    let output = home.command(&["build"]).env("FOREWORD_PROMPTS_DIR", "").output().unwrap();
    expect(
        &refusal(Ran::of(output), 3, &["build"]),
        &["`FOREWORD_PROMPTS_DIR` is set but empty", "unset it"],
    );
}

#[test]
fn a_context_file_that_is_no_mapping_or_does_not_parse_is_refused() {
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
