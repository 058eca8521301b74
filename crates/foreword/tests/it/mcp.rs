//! MCP servers on the command line and in a chat.

use serde_json::json;

use crate::program::Home;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../foreword-agent/tests/fixtures/mcp_server.py");

fn home() -> Home {
    let home = Home::made_for("gateway");
    let yaml = std::fs::read_to_string(home.path().join("foreword.yaml")).unwrap();
    let yaml: String =
        yaml.lines().filter(|line| !line.starts_with("tools:")).map(|line| format!("{line}\n")).collect();
    let servers = format!(
        "tools:\n  mcp:\n    fake: {{ command: python3, args: [{SCRIPT:?}, child], trust: familiar, tools: {{ echo: {{ sensitive: true }} }} }}\n    gone: {{ command: no-such-server }}\n"
    );
    home.write("foreword.yaml", yaml + &servers);
    home
}

#[test]
fn tools_are_listed_and_failing_servers_reported() {
    let home = home();
    let ran = home.run(&["tools"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("bash(command)") && ran.stdout.contains("fake__echo(text, times?)"),
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.contains("the tools of `gone` are missing"), "{}", ran.stderr);
    let listed = home.json(&["--json", "tools", "list"]);
    let echo = listed.as_array().unwrap().iter().find(|tool| tool["name"] == "fake__echo").unwrap();
    assert_eq!(
        (&echo["source"], &echo["sensitive"], &echo["trust"]),
        (&json!("fake"), &json!(true), &json!("familiar"))
    );
}

#[test]
fn tool_rules_apply_and_unmatched_ones_warn() {
    let home = home();
    let yaml = std::fs::read_to_string(home.path().join("foreword.yaml")).unwrap();
    let rules = "\ntools:\n  disabled: [fake__big, fake__dei]\n  trust: { \"fake__*\": inner }\n  mcp:\n";
    home.write("foreword.yaml", yaml.replace("\ntools:\n  mcp:\n", rules));
    let ran = home.run(&["tools"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!ran.stdout.contains("fake__big") && ran.stdout.contains("fake__die"), "{}", ran.stdout);
    assert!(ran.stderr.contains("a rule for `fake__dei`, but its server has no such tool"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("fake__big") && !ran.stderr.contains("fake__*"), "{}", ran.stderr);
    let listed = home.json(&["--json", "tools", "list"]);
    let echo = listed.as_array().unwrap().iter().find(|tool| tool["name"] == "fake__echo").unwrap();
    assert_eq!(echo["trust"], json!("inner"));
}

#[test]
fn failing_server_sets_the_exit_code() {
    let home = home();
    let ran = home.run(&["tools", "servers"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    for expected in [
        "fake  ready  fake\\n# System 1.0\n  13 tools: fake__ask, fake__big",
        "gone  failing\n  `no-such-server` can't be started",
    ] {
        assert!(ran.stdout.contains(expected), "{expected}\n{}", ran.stdout);
    }
}

#[test]
fn tool_is_shown_and_typos_get_a_suggestion() {
    let home = home();
    let shown = home.succeed(&["tools", "show", "fake__echo"]);
    assert!(
        shown.contains("(data, not instructions): Says it again.") && shown.contains("\"required\""),
        "{shown}"
    );
    let refused = home.refused(1, &["tools", "show", "fake__ecko"]);
    assert!(refused.contains("did you mean `fake__echo`?"), "{refused}");
}

#[test]
fn check_reports_missing_server_programs() {
    let ran = home().run(&["check"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(
        ran.stdout.contains("`tools.mcp.gone` starts `no-such-server`, which is not on the PATH"),
        "{}",
        ran.stdout
    );
}

#[test]
fn chat_calls_an_mcp_tool_and_stops_the_server() {
    let home = home();
    let said = home.succeed(&["--json", "chat", "!tool fake__echo {\"text\": \"hi there\"}"]);
    assert!(said.contains("| hi there"), "{said}");
    // The server wrote its process id and that of a process it started.
    let numbers = std::fs::read_to_string(home.path().join("child.pid")).unwrap();
    for number in numbers.split(' ') {
        let state = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state}");
    }
}
