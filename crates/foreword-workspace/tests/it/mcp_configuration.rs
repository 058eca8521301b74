//! Servers of tools in the configuration: what is taken, and how what is wrong is told.

use std::time::Duration;

use foreword_prompt::tool::ToolSpec;
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

/// What each of these tools needs, with the server's trust; `None` if it is off.
fn needed(config: &Config) -> Vec<Option<Trust>> {
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
fn tools_of_servers_are_named_in_every_list_one_by_one_or_all_at_once() {
    let config = Config::parse("foreword.yaml", NAMED).unwrap();
    let (full, inner) = (Some(Trust::Full), Some(Trust::Inner));
    assert_eq!(needed(&config), [inner, full, None, inner, full, None]);
    // What holds for all holds for the clerk too, and where both say something the stricter of the two.
    let clerk = config.other_agent("clerk").unwrap();
    assert_eq!(needed(clerk), [full, full, None, None, full, None]);
    let sensitive = |config: &Config| {
        ["bash", "time__now", "files__write", "files__read"].map(|name| config.tool_rules.is_sensitive(name))
    };
    assert_eq!(
        (sensitive(&config), sensitive(clerk)),
        ([true, true, false, false], [true, true, true, false])
    );
}

#[test]
fn a_tool_of_a_server_that_is_not_there_is_refused_where_it_stands_with_a_way_out() {
    let servers = "  mcp: { files: { command: a } }\n";
    let check = |yaml: &str, line: usize, name: &str, help: &str| {
        let problems = Config::parse("foreword.yaml", yaml).unwrap_err();
        let [problem] = &problems[..] else { panic!("{yaml}: {problems:?}") };
        assert_eq!(
            (problem.at.line, problem.message.as_str()),
            (line, &*format!("there is no tool `{name}`"))
        );
        assert!(problem.help.as_deref().is_some_and(|told| told.contains(help)), "{yaml}: {problem:?}");
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
    check("tools: { disabled: [files__write] }\n", 1, "files__write", "no server is configured");
}

#[test]
fn a_trust_below_the_servers_own_changes_nothing_and_is_noted() {
    let notes = |rule: &str, server: &str| {
        let yaml = format!("tools:\n  trust: {{ {rule} }}\n  mcp: {{ files: {{ command: a{server} }} }}\n");
        let config = Config::parse("foreword.yaml", &yaml).unwrap();
        config
            .notes
            .iter()
            .filter(|note| note.message.contains("changes nothing") && note.at.line == 2)
            .count()
    };
    assert_eq!(notes("files__read: inner", ""), 1);
    assert_eq!(notes("\"files__*\": familiar", ", trust: inner"), 1);
    assert_eq!(notes("files__read: inner", ", trust: inner"), 0);
    assert_eq!(notes("files__read: inner", ", tools: { read: { trust: familiar } }"), 0);
    assert_eq!(notes("\"files__*\": inner", ", tools: { read: { trust: familiar } }"), 0);
    assert_eq!(notes("files__read: full, bash: inner", ""), 0);
}

#[test]
fn a_server_that_is_switched_off_is_checked_and_not_used() {
    let config =
        Config::parse("foreword.yaml", "tools: { mcp: { x: { command: a, enabled: false } } }").unwrap();
    assert!(config.mcp.is_empty());
    check("url: \"ftp://b\", enabled: false", "can't be used");
}
