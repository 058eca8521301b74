//! Servers of tools in the configuration: what is taken, and how what is wrong is told.

use std::time::Duration;

use foreword_prompt::trust::Trust;
use foreword_workspace::config::Config;
use foreword_workspace::config::mcp::McpReach;

const MANUAL: &str = include_str!("../../../../docs/mcp.md");

fn problems(servers: &str) -> Vec<String> {
    let yaml = format!("tools:\n  mcp:\n{servers}");
    let problems = Config::parse("foreword.yaml", &yaml).err().unwrap_or_default();
    problems.iter().map(|problem| problem.to_string()).collect()
}

fn check(server: &str, expected: &str) {
    let told = problems(&format!("    x: {{ {server} }}\n"));
    assert!(told.iter().any(|told| told.contains(expected)), "{server}\n{told:#?}");
}

#[test]
fn the_example_of_the_manual_is_taken_and_every_key_is_in_its_table() {
    let example = MANUAL.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let config = Config::parse("foreword.yaml", example).unwrap();
    assert_eq!(config.mcp.keys().map(|name| &**name).collect::<Vec<_>>(), ["far", "files", "time"]);
    let files = &config.mcp["files"];
    assert_eq!((files.rules.trust, files.rules.max_tools), (Trust::Inner, 64));
    assert_eq!((files.timeout, files.start_timeout), (Duration::from_secs(30), Duration::from_secs(10)));
    assert!(files.rules.tools["write_file"].sensitive && files.rules.tools["move_file"].disabled);
    let McpReach::Address(far) = &config.mcp["far"].reach else { panic!() };
    assert_eq!(
        (far.url.as_str(), far.bearer_env.as_deref()),
        ("https://tools.example.com/mcp", Some("FAR_TOKEN"))
    );
    let schema = schemars::schema_for!(foreword_workspace::config::raw::RawMcpServer);
    for key in schema.get("properties").unwrap().as_object().unwrap().keys().filter(|key| *key != "tools") {
        assert!(MANUAL.contains(&format!("| `{key}` |")), "{key}");
    }
}

#[test]
fn a_server_is_reached_in_one_way_and_each_mistake_is_told_where_it_is() {
    check("trust: inner", "`tools.mcp.x` says not how it is reached");
    check("command: a, url: \"http://b\"", "`tools.mcp.x` has both `command` and `url`");
    check("command: \" \"", "names no program");
    check("command: a, bearer_env: TOKEN", "`tools.mcp.x.bearer_env` goes with `url`, which is not there");
    check("url: \"http://b\", cwd: notes", "`tools.mcp.x.cwd` goes with `command`, which is not there");
    check("command: a, cwd: ../b", "`tools.mcp.x.cwd`");
    check("command: a, env: { 1A: b }", "`tools.mcp.x.env`: this is no name of an environment variable");
    check("url: \"ftp://b\"", "`tools.mcp.x.url` can't be used");
    check("url: \"http://b\", headers: { Accept: c }", "`Accept` belongs to the protocol");
    check("command: a, timeout_ms: 0", "`tools.mcp.x.timeout_ms` is 0, which is too small");
    check("command: a, max_tools: 0", "`tools.mcp.x.max_tools` is 0, which is too small");
    assert!(problems("    My_Files: { command: a }\n")[0].contains("`My_Files` is no name of a server"));
}

#[test]
fn no_message_shows_a_secret() {
    for server in [
        "url: \"http://alice:s3cret@b\"",
        "url: \"http://b\", bearer_env: s3cret",
        "url: \"http://b\", headers: { A B: s3cret }",
        "command: a, env: { 1A: s3cret }",
    ] {
        let told = problems(&format!("    x: {{ {server} }}\n"));
        assert!(!told.is_empty() && !told.concat().contains("s3cret"), "{server}\n{told:#?}");
    }
}

#[test]
fn tools_of_servers_can_be_called_sensitive_and_those_of_others_can_not() {
    let yaml =
        |name: &str| format!("tools:\n  sensitive: [bash, {name}]\n  mcp: {{ files: {{ command: a }} }}\n");
    assert!(Config::parse("foreword.yaml", &yaml("files__write_file")).is_ok());
    for unknown in ["fiels__write_file", "files__"] {
        let problems = Config::parse("foreword.yaml", &yaml(unknown)).unwrap_err();
        assert!(problems[0].to_string().contains("there is no tool"), "{}", problems[0]);
    }
}

#[test]
fn a_server_that_is_switched_off_is_checked_and_not_used() {
    let config =
        Config::parse("foreword.yaml", "tools: { mcp: { x: { command: a, enabled: false } } }").unwrap();
    assert!(config.mcp.is_empty());
    check("url: \"ftp://b\", enabled: false", "can't be used");
}
