//! MCP servers in the configuration: valid and invalid settings.

use std::time::Duration;

use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::Trust;
use foreword_workspace::config::Config;
use foreword_workspace::config::mcp::McpTransport;

const MANUAL: &str = include_str!("../../../../docs/mcp.md");

fn problems(servers: &str) -> Vec<String> {
    let yaml = format!("tools:\n  mcp:\n{servers}");
    let problems = Config::parse("foreword.yaml", &yaml).err().unwrap_or_default();
    problems.iter().map(|problem| problem.to_string()).collect()
}

fn check(server: &str, expected: &str) {
    let problems = problems(&format!("    x: {{ {server} }}\n"));
    assert!(problems.iter().any(|problem| problem.contains(expected)), "{server}\n{problems:#?}");
}

#[test]
fn mcp_manual_is_valid_and_complete() {
    let example = MANUAL.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let config = Config::parse("foreword.yaml", example).unwrap();
    assert_eq!(config.mcp.keys().map(|name| &**name).collect::<Vec<_>>(), ["far", "files", "time"]);
    let files = &config.mcp["files"];
    assert_eq!((files.rules.trust, files.rules.max_tools), (Trust::Inner, 64));
    assert_eq!((files.timeout, files.start_timeout), (Duration::from_secs(30), Duration::from_secs(10)));
    assert!(files.rules.tools["write_file"].sensitive && files.rules.tools["move_file"].disabled);
    let McpTransport::Http(far) = &config.mcp["far"].transport else { panic!() };
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
fn servers_have_one_transport_and_errors_a_position() {
    check("trust: inner", "`tools.mcp.x` has neither `command` nor `url`");
    check("command: a, url: \"http://b\"", "`tools.mcp.x` has both `command` and `url`");
    check("command: \" \"", "`tools.mcp.x.command` is not a program name");
    check("command: a, bearer_env: TOKEN", "`tools.mcp.x.bearer_env` requires `url`");
    check("url: \"http://b\", cwd: notes", "`tools.mcp.x.cwd` requires `command`");
    check("command: a, cwd: ../b", "`tools.mcp.x.cwd`");
    check("command: a, env: { 1A: b }", "`tools.mcp.x.env`: not a valid environment variable name");
    check("url: \"ftp://b\"", "`tools.mcp.x.url` can't be used");
    check("url: \"http://b\", headers: { Accept: c }", "`Accept` belongs to the protocol");
    check("command: a, timeout_ms: 0", "`tools.mcp.x.timeout_ms` is 0, which is too small");
    check("command: a, max_tools: 0", "`tools.mcp.x.max_tools` is 0, which is too small");
    assert!(problems("    My_Files: { command: a }\n")[0].contains("`My_Files` is not a valid server name"));
}

#[test]
fn messages_contain_no_secrets() {
    for server in [
        "url: \"http://alice:s3cret@b\"",
        "url: \"http://b\", bearer_env: s3cret",
        "url: \"http://b\", headers: { A B: s3cret }",
        "command: a, env: { 1A: s3cret }",
    ] {
        let problems = problems(&format!("    x: {{ {server} }}\n"));
        assert!(!problems.is_empty() && !problems.concat().contains("s3cret"), "{server}\n{problems:#?}");
    }
}

const NAMED: &str = "\
tools:
  disabled: [bash, files__delete]
  trust: { read_file: full, files__write: full, \"time__*\": inner }
  sensitive: [bash, \"time__*\"]
  mcp:
    files: { command: a, trust: inner }
    time: { command: b, trust: familiar }
agents:
  clerk:
    tools: { disabled: [\"time__*\"], trust: { read_file: inner, \"files__*\": full }, sensitive: [files__write] }
";

/// The trust each of these tools needs, including the server's; `None` if it is disabled.
fn required_trust(config: &Config) -> Vec<Option<Trust>> {
    let tools = [
        ("files__read", Trust::Inner),
        ("files__write", Trust::Inner),
        ("files__delete", Trust::Inner),
        ("time__now", Trust::Familiar),
    ];
    let more = tools.map(|(name, trust)| ToolSpec::new(name, "Does it.", trust));
    let left = config.tools_at(Trust::Full, &more);
    let names = tools.iter().map(|(name, _)| *name).chain(["read_file", "bash"]);
    names.map(|name| left.iter().find(|tool| tool.name == name).map(|tool| tool.trust)).collect()
}

#[test]
fn server_tools_are_listed_singly_or_by_wildcard() {
    let config = Config::parse("foreword.yaml", NAMED).unwrap();
    let (full, inner) = (Some(Trust::Full), Some(Trust::Inner));
    assert_eq!(required_trust(&config), [inner, full, None, inner, full, None]);
    // Common rules apply to the clerk too; of two rules the stricter applies.
    let clerk = config.other_agent("clerk").unwrap();
    assert_eq!(required_trust(clerk), [full, full, None, None, full, None]);
    let sensitive = |config: &Config| {
        ["bash", "time__now", "files__write", "files__read"].map(|name| config.tool_rules.is_sensitive(name))
    };
    assert_eq!(
        (sensitive(&config), sensitive(clerk)),
        ([true, true, false, false], [true, true, true, false])
    );
}

#[test]
fn tools_of_unknown_servers_are_refused_with_help() {
    let servers = "  mcp: { files: { command: a } }\n";
    let check = |yaml: &str, line: usize, name: &str, help: &str| {
        let problems = Config::parse("foreword.yaml", yaml).unwrap_err();
        let [problem] = &problems[..] else { panic!("{yaml}: {problems:?}") };
        assert_eq!(
            (problem.at.line, problem.message.as_str()),
            (line, &*format!("there is no tool `{name}`"))
        );
        assert!(problem.help.as_deref().is_some_and(|hint| hint.contains(help)), "{yaml}: {problem:?}");
    };
    for list in ["disabled: [NAME]", "sensitive: [bash, NAME]", "trust: { NAME: full }"] {
        for (name, help) in [
            ("fiels__write", "did you mean `files__write`?"),
            ("filse__*", "did you mean `files__*`?"),
            ("letters__send", "no server of that name in `tools.mcp`, only `files`"),
            ("files__", "or write `files__*` for all of them"),
            ("files__wr*", "or write `files__*` for all of them"),
            ("files", "did you mean all its tools, `files__*`?"),
            ("write_fiel", "did you mean `write_file`?"),
        ] {
            let list = list.replace("NAME", &format!("\"{name}\""));
            check(&format!("tools:\n{servers}  {list}\n"), 3, name, help);
            let agents = format!("tools:\n{servers}agents:\n  clerk:\n    tools: {{ {list} }}\n");
            check(&agents, 5, name, help);
        }
    }
    check("tools: { disabled: [files__write] }\n", 1, "files__write", "no MCP server is configured");
}

#[test]
fn trust_below_the_servers_is_noted() {
    let notes = |rule: &str, server: &str| {
        let yaml = format!("tools:\n  trust: {{ {rule} }}\n  mcp: {{ files: {{ command: a{server} }} }}\n");
        let config = Config::parse("foreword.yaml", &yaml).unwrap();
        config.notes.iter().filter(|note| note.message.contains("has no effect") && note.at.line == 2).count()
    };
    assert_eq!(notes("files__read: inner", ""), 1);
    assert_eq!(notes("\"files__*\": familiar", ", trust: inner"), 1);
    assert_eq!(notes("files__read: inner", ", trust: inner"), 0);
    assert_eq!(notes("files__read: inner", ", tools: { read: { trust: familiar } }"), 0);
    assert_eq!(notes("\"files__*\": inner", ", tools: { read: { trust: familiar } }"), 0);
    assert_eq!(notes("files__read: full, bash: inner", ""), 0);
}

#[test]
fn disabled_servers_are_validated_but_not_used() {
    let config =
        Config::parse("foreword.yaml", "tools: { mcp: { x: { command: a, enabled: false } } }").unwrap();
    assert!(config.mcp.is_empty());
    check("url: \"ftp://b\", enabled: false", "can't be used");
}
