//! Servers of tools as people see them: on the command line, and in a chat.

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
fn tools_are_listed_with_where_they_are_from_and_a_server_that_fails_is_told() {
    let home = home();
    let ran = home.run(&["tools"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("bash(command)") && ran.stdout.contains("fake__echo(text, times?)"),
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.contains("the tools of `gone` are not among them"), "{}", ran.stderr);
    let listed = home.json(&["--json", "tools", "list"]);
    let echo = listed.as_array().unwrap().iter().find(|tool| tool["name"] == "fake__echo").unwrap();
    assert_eq!(
        (&echo["source"], &echo["sensitive"], &echo["trust"]),
        (&json!("fake"), &json!(true), &json!("familiar"))
    );
}

#[test]
fn rules_about_tools_of_servers_count_in_the_list_and_one_about_none_is_told() {
    let home = home();
    let yaml = std::fs::read_to_string(home.path().join("foreword.yaml")).unwrap();
    let rules = "\ntools:\n  disabled: [fake__big, fake__dei]\n  trust: { \"fake__*\": inner }\n  mcp:\n";
    home.write("foreword.yaml", yaml.replace("\ntools:\n  mcp:\n", rules));
    let ran = home.run(&["tools"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!ran.stdout.contains("fake__big") && ran.stdout.contains("fake__die"), "{}", ran.stdout);
    assert!(ran.stderr.contains("a rule for `fake__dei`, which its server does not offer"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("fake__big") && !ran.stderr.contains("fake__*"), "{}", ran.stderr);
    let listed = home.json(&["--json", "tools", "list"]);
    let echo = listed.as_array().unwrap().iter().find(|tool| tool["name"] == "fake__echo").unwrap();
    assert_eq!(echo["trust"], json!("inner"));
}

#[test]
fn servers_are_shown_with_state_and_version_and_the_exit_code_says_if_one_fails() {
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
fn a_tool_is_shown_as_the_model_reads_it_and_a_wrong_name_gets_the_near_one() {
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
fn a_program_that_is_not_there_is_noted_by_check() {
    let ran = home().run(&["check"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(
        ran.stdout.contains("`tools.mcp.gone` starts `no-such-server`, which is not on the PATH"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_chat_calls_a_tool_of_a_server_and_leaves_no_server_behind() {
    let home = home();
    let said = home.succeed(&["--json", "chat", "!tool fake__echo {\"text\": \"hi there\"}"]);
    assert!(said.contains("| hi there"), "{said}");
    // The server wrote down its own number and that of a process it started.
    let numbers = std::fs::read_to_string(home.path().join("child.pid")).unwrap();
    for number in numbers.split(' ') {
        let state = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state}");
    }
}
