//! The command line's interface: exit codes, JSON everywhere, the shape of a build.

use std::collections::BTreeSet;
use std::io::Read;
use std::process::Stdio;

use serde_json::Value;

use crate::program::{Home, Ran};

const BUILD_KEYS: [&str; 9] =
    ["budget", "fingerprint", "layers", "system", "text", "tokens", "trust", "turn_context", "warnings"];
const LAYER_KEYS: [&str; 9] =
    ["authority", "id", "range", "source", "stability", "status", "title", "tokens", "trust"];

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

pub(crate) fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))).unwrap()
}

pub(crate) fn build(home: &Home, args: &[&str]) -> Value {
    home.json(&[&["build", "--format", "json"], args].concat())
}

#[test]
fn exit_codes_are_as_documented() {
    let home = Home::made_for("gateway");
    for (code, args) in [
        (0, &["build"][..]),
        (0, &["--help"]),
        (0, &["--version"]),
        (1, &["init"]),
        (2, &["build", "--frmat", "json"]),
        (2, &["build", "--format", "yaml"]),
        (2, &["no-such-command"]),
        (2, &[]),
        (2, &["diff", "--a", "usr=bob"]),
        (2, &["diff", "--a", "bob"]),
        (2, &["build", "--context", "no-pair"]),
        (3, &["render", "absent.md"]),
        (1, &["-w", "no-such-directory", "build"]),
    ] {
        assert_eq!(home.run(args).code, code, "{args:?}");
    }
}

#[test]
fn commands_and_failures_support_json() {
    let home = Home::made_for("gateway");
    home.write("t.md", "[system:os]");
    for args in [
        &["build"][..],
        &["explain"],
        &["diff", "--b", "user=bob"],
        &["check"],
        &["schema"],
        &["render", "t.md"],
        &["init", "other"],
    ] {
        home.json(&[&["--json"], args].concat());
    }
    for (code, args) in [(1, &["init"][..]), (2, &["diff", "--a", "x"]), (3, &["render", "absent.md"])] {
        let ran = home.run(&[args, &["--json"]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{args:?}");
        let output: Value = serde_json::from_str(&ran.stderr).unwrap();
        assert!(output["error"]["message"].is_string() && output["error"]["help"].is_string(), "{output}");
    }
    home.write("foreword.yaml", "agent: [");
    let checked = home.run(&["--json", "check"]);
    assert_eq!(checked.code, 3);
    let found: Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!(found["errors"][0]["file"], "foreword.yaml");
    assert_eq!(found["errors"][0]["line"], 1);
}

#[test]
fn usage_errors_are_json_with_json() {
    let home = Home::new();
    for (args, message, help) in [
        (&["--json", "build", "--nope"][..], "--nope", "--help"),
        (&["build", "--frmat", "json", "--json"], "--frmat", "--format"),
        (&["--json", "buld"], "buld", "build"),
        (&["--json", "completions"], "<SHELL>", "--help"),
        (&["--json"], "no command", "--help"),
    ] {
        let ran = home.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}");
        let output: Value = serde_json::from_str(&ran.stderr).unwrap_or_else(|_| panic!("{}", ran.stderr));
        assert_eq!(output["error"]["code"], "usage");
        assert!(output["error"]["message"].as_str().unwrap().contains(message), "{output}");
        assert!(output["error"]["help"].as_str().unwrap().contains(help), "{output}");
    }
    assert!(home.succeed(&["--json", "--help"]).contains("Usage: foreword"));
    let plain = home.run(&["build", "--nope", "--", "--json"]);
    assert!(plain.code == 2 && plain.stderr.starts_with("error: "), "{}", plain.stderr);
}

#[test]
fn workspace_precedence_is_flag_environment_current_directory() {
    let home =
        Home::with(&[("SOUL.md", "Here."), ("flag/SOUL.md", "Flag."), ("env/SOUL.md", "Environment.")]);
    let soul = |args: &[&str], variable: Option<&str>| {
        let mut command = home.command(args);
        command.envs(variable.map(|directory| ("FOREWORD_WORKSPACE", directory)));
        Ran::of(command.output().unwrap()).stdout
    };
    assert!(soul(&["build"], None).contains("Here."));
    assert!(soul(&["build"], Some("env")).contains("Environment."));
    assert!(soul(&["-w", "flag", "build"], Some("env")).contains("Flag."));
    assert!(soul(&["build", "--workspace", "flag"], None).contains("Flag."), "after the command, too");
}

#[test]
fn json_build_has_exactly_the_documented_keys() {
    let home = Home::made_for("gateway");
    for user in ["alice", "bob", "carol", "mallory"] {
        let report = build(&home, &["--user", user]);
        assert_eq!(keys(&report), BUILD_KEYS);
        assert_eq!(keys(&report["tokens"]), ["counter", "frozen", "total", "turn"]);
        assert_eq!(keys(&report["budget"]), ["limit", "remaining"]);
        assert_eq!(keys(&report["trust"]), ["ceiling", "effective", "user"]);
        assert!(report["fingerprint"].as_str().unwrap().starts_with("blake3:"));
        for block in report["system"].as_array().unwrap() {
            assert_eq!(keys(block), ["cache", "layers", "text"]);
            assert!(["static", "agent", "conversation", "none"].contains(&block["cache"].as_str().unwrap()));
        }
        for layer in report["layers"].as_array().unwrap() {
            let own = keys(layer);
            assert!(LAYER_KEYS.iter().all(|key| own.contains(key)), "{layer}");
            assert!(["included", "cut", "menu"].contains(&layer["status"].as_str().unwrap()), "{layer}");
            assert!(layer["status"] == "menu" || layer["hash"].as_str().unwrap().starts_with("blake3:"));
        }
    }
    assert_eq!(home.json(&["--json", "build"])["system"], build(&home, &[])["system"]);
}

#[test]
fn build_numbers_are_consistent() {
    let home = Home::made_for("gateway");
    for placement in ["message", "system"] {
        let config = std::fs::read_to_string(home.path().join("foreword.yaml")).unwrap();
        home.write(
            "foreword.yaml",
            config.replace("turn_context: message", &format!("turn_context: {placement}")),
        );
        let report = build(&home, &[]);
        let text = report["text"].as_str().unwrap();
        let layers = report["layers"].as_array().unwrap();
        let mut at = 0;
        for layer in layers {
            assert_eq!(number(&layer["range"][0]), at, "a gap before {}", layer["id"]);
            at = number(&layer["range"][1]);
            assert!(text.is_char_boundary(at));
        }
        assert_eq!(at, text.len(), "the ranges tile the text");
        let blocks: String = report["system"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block["text"].as_str().unwrap())
            .collect();
        assert!(text.starts_with(&blocks), "{placement}");
        assert_eq!(report["turn_context"].is_string(), placement == "message");
        let weight: usize = layers
            .iter()
            .filter(|layer| layer["status"] != "menu")
            .map(|layer| number(&layer["tokens"]))
            .sum();
        let tokens = &report["tokens"];
        assert_eq!(number(&tokens["total"]), weight);
        assert_eq!(number(&tokens["frozen"]) + number(&tokens["turn"]), weight);
        assert_eq!(number(&report["budget"]["limit"]) - weight, number(&report["budget"]["remaining"]));
    }
}

#[test]
fn text_and_json_have_the_same_bytes() {
    let home = Home::made_for("sovereign");
    // The frozen part of this prompt does not contain the time.
    let (text, report) = (home.succeed(&["build"]), build(&home, &[]));
    let frozen: String =
        report["system"].as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap()).collect();
    assert!(text.starts_with(&frozen) && frozen.len() > 1_000);
}

#[test]
fn building_twice_gives_the_same_frozen_bytes() {
    for blueprint in ["gateway", "vm", "sovereign", "agent"] {
        let home = Home::made_for(blueprint);
        let (first, second) = (build(&home, &[]), build(&home, &[]));
        assert_eq!(first["system"], second["system"], "{blueprint}");
        assert_eq!(first["fingerprint"], second["fingerprint"], "{blueprint}");
    }
}

#[test]
fn schema_covers_the_keys_of_init_workspaces() {
    let schema = Home::new().json(&["schema"]);
    assert_eq!(schema["title"], "foreword.yaml");
    for blueprint in ["gateway", "vm", "sovereign", "template", "agent"] {
        let home = Home::made_for(blueprint);
        let yaml = std::fs::read_to_string(home.path().join("foreword.yaml")).unwrap();
        let config: Value = serde_saphyr::from_str(&yaml).unwrap();
        described(&config, &schema, &schema, blueprint);
    }
}

#[test]
fn commented_out_settings_of_init_are_valid() {
    for blueprint in ["gateway", "vm", "sovereign", "template", "agent"] {
        let home = Home::made_for(blueprint);
        let yaml = std::fs::read_to_string(home.path().join("foreword.yaml")).unwrap();
        // Prose has one space after its `#`; commented-out settings have none, or their indentation of two.
        let switched_on = |line: &str| {
            let (indent, rest) = line.split_once('#').unwrap_or((line, " "));
            let is_key = |text: &str| text.starts_with(|c: char| c.is_ascii_lowercase());
            let is_one =
                indent.trim().is_empty() && (is_key(rest) || rest.strip_prefix("  ").is_some_and(is_key));
            if is_one { format!("{indent}{rest}\n") } else { format!("{line}\n") }
        };
        let full: String = yaml.lines().map(switched_on).collect();
        let config: Value = serde_saphyr::from_str(&full).unwrap();
        for key in
            ["/agent/limits", "/prompt/cache", "/providers", "/retry", "/tools/bash", "/tools/sensitive"]
        {
            assert!(config.pointer(key).is_some(), "{blueprint}: {key}");
        }
        home.write("foreword.yaml", &full);
        let output = home.succeed(&["check"]);
        assert!(output.contains("No problems"), "{blueprint}: {output}");
    }
}

#[test]
fn schema_matches_the_snapshot() {
    insta::assert_snapshot!(Home::new().succeed(&["schema"]));
}

#[test]
fn every_key_in_the_schema_is_described() {
    fn look(schema: &Value, at: &str) {
        let members = schema["properties"].as_object().into_iter().flatten();
        for (key, member) in members {
            // The parts of a blueprint are described at their definition.
            let text = member["description"].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "{at}.{key} has no description");
            assert!(!text.contains("Spanned") && !text.contains("Raw"), "{at}.{key}: {text}");
        }
        for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
            look(definition, name);
        }
    }
    look(&Home::new().json(&["schema"]), "foreword.yaml");
}

/// Checks that `schema` describes every key of `value`, following references.
fn described(value: &Value, schema: &Value, all: &Value, at: &str) {
    let parts = [&schema["anyOf"], &schema["allOf"], &schema["oneOf"]];
    let mut open: Vec<&Value> =
        parts.into_iter().filter_map(Value::as_array).flatten().chain([schema]).collect();
    open = open
        .into_iter()
        .map(|one| one["$ref"].as_str().map_or(one, |to| all.pointer(&to[1..]).unwrap()))
        .collect();
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let found = open.iter().find_map(|one| {
                    one["properties"]
                        .get(key)
                        .or_else(|| one.get("additionalProperties").filter(|of| of.is_object()))
                });
                let found = found.unwrap_or_else(|| panic!("{at}.{key} is not in the schema"));
                described(member, found, all, &format!("{at}.{key}"));
            }
        }
        Value::Array(members) => {
            let items =
                open.iter().find_map(|one| one.get("items")).unwrap_or_else(|| panic!("{at} is no list"));
            members.iter().for_each(|member| described(member, items, all, at));
        }
        _ => {}
    }
}

#[test]
fn completions_know_every_command() {
    let home = Home::new();
    let mut scripts = BTreeSet::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = home.succeed(&["completions", shell]);
        for command in ["init", "build", "render", "explain", "diff", "check", "schema", "completions"] {
            assert!(script.contains(command), "{shell} does not complete {command}");
        }
        scripts.insert(script);
    }
    assert_eq!(scripts.len(), 3, "each shell has its own");
    assert_eq!(home.run(&["completions", "cmd.exe"]).code, 2);
}

#[test]
fn manual_has_a_page_per_command() {
    let home = Home::new();
    let page = home.succeed(&["man"]);
    assert!(page.starts_with(".ie") && page.contains(".SH SYNOPSIS"), "{page}");
    let directory = home.outside().join("share/man/man1");
    let said = home.succeed(&["man", directory.to_str().unwrap()]);
    let read = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
    assert_eq!(read("foreword.1"), page);
    for name in ["foreword-build.1", "foreword-store-backup.1", "foreword-man.1"] {
        assert!(read(name).contains(".SH OPTIONS"), "{name}");
    }
    assert!(!directory.join("foreword-help.1").exists());
    let files = std::fs::read_dir(&directory).unwrap().count();
    assert!(files > 40 && said.starts_with(&format!("{files} pages in ")), "{files}: {said}");
}

#[test]
fn closed_pipe_is_not_a_failure() {
    let home = Home::made_for("gateway");
    for args in [&["build"][..], &["explain"], &["schema"], &["build", "--format", "json"]] {
        let mut child = home.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut stderr_text = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr_text).unwrap();
        assert_eq!((child.wait().unwrap().code(), stderr_text.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn output_in_a_pipe_has_no_colour() {
    let home = Home::made_for("gateway");
    for args in
        [&["explain"][..], &["diff", "--b", "user=bob"], &["check"], &["--help"], &["render", "absent.md"]]
    {
        let ran = home.run(args);
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "{args:?}");
    }
}

#[test]
fn invalid_sovereign_context_shows_the_expected_shape() {
    let home = Home::made_for("sovereign");
    for (pair, message, shape) in [
        (
            r#"inbox=[{"sender":"0xA","text":"x"},{"sender":"0xA","body":"x"}]"#,
            "`inbox[1]` has no `text`",
            "\"sender\"",
        ),
        (r#"inbox=[{"sender":7,"text":"x"}]"#, "`inbox[0].sender` is not text", "\"sender\""),
        (r#"inbox=["hello"]"#, "`inbox[0]` is not a mapping", "\"sender\""),
        ("inbox=hello", "`inbox` is not a list", "\"sender\""),
        (r#"history=[{"sender":"0xA"}]"#, "`history[0]` has no `exchanges`", "\"exchanges\""),
        (
            r#"history=[{"sender":"0xA","exchanges":[{"message":"x"}]}]"#,
            "`history[0].exchanges[0]` has no `reply`",
            "\"reply\"",
        ),
        ("memory=x", "`memory` is not a list", "[\""),
        ("state=x", "`state` is not a mapping", "{"),
        ("calls_left=many", "`calls_left` is not a whole number", "3"),
    ] {
        for command in ["build", "explain"] {
            let output = home.refused(2, &[command, "--context", pair]);
            assert!(output.contains(message) && output.contains(shape), "{output}");
        }
    }
    let good = r#"inbox=[{"sender":"0xA","text":"pay up"}]"#;
    let history = r#"history=[{"sender":"0xA","exchanges":[{"message":"a","reply":"b"}]}]"#;
    let built = home.succeed(&["build", "--context", good, history, "calls_left=3", "balance=5"]);
    assert!(built.contains("pay up"), "{built}");
    // Other blueprints treat these as ordinary values.
    Home::made_for("gateway").succeed(&["build", "--context", "inbox=hello"]);
}
