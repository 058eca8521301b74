//! `foreword agents`, and several agents on the command line and in the chat.

use serde_json::json;

use crate::program::{Home, PEOPLE};

const AGENTS: &str = "\
agent: { name: Ada, description: Knows the house. }
agents:
  clerk: { description: Answers letters., tools: { disabled: [bash] } }
  keeper: { blueprint: sovereign, model: offline/echo }
";

fn home() -> Home {
    let yaml = format!("{AGENTS}{PEOPLE}");
    Home::with(&[
        ("foreword.yaml", &yaml),
        ("SOUL.md", "I am the house."),
        ("agents/clerk/SOUL.md", "I write letters."),
    ])
}

#[test]
fn agents_are_listed_and_shown() {
    let home = home();
    let before = home.listing();
    let listed = home.json(&["--json", "agents"]);
    assert_eq!(
        listed["agents"][1],
        json!({ "name": "clerk", "description": "Answers letters.", "blueprint": "gateway", "model": "offline/echo",
                "files": "agents/clerk", "first": false })
    );
    let table = home.succeed(&["agents", "list"]);
    assert!(
        table.contains("keeper") && table.contains("sovereign") && table.contains("agents/keeper/"),
        "{table}"
    );
    let shown = home.succeed(&["agents", "show", "Clerk"]);
    assert!(shown.contains("hand_over (inner)") && !shown.contains("bash"), "{shown}");
    let ran = home.run(&["agents", "show", "clrk"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("known agents: `Ada`, `clerk`, `keeper`"), "{}", ran.stderr);
    assert_eq!(home.listing(), before);
}

#[test]
fn build_explain_and_diff_accept_an_agent() {
    let home = home();
    assert!(home.succeed(&["build", "--agent", "clerk"]).contains("I write letters."));
    assert!(home.succeed(&["build"]).contains("I am the house."));
    let origins = home.succeed(&["--json", "explain", "--agent", "clerk"]);
    assert!(origins.contains("agents/clerk/SOUL.md"), "{origins}");
    let diff = home.succeed(&["diff", "--b", "agent=clerk"]);
    assert!(diff.contains("I write letters."), "{diff}");
    let ran = home.run(&["build", "--agent", "clrk"]);
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("there is no agent `clrk` here"), "{}", ran.stderr);
}

#[test]
fn every_agent_is_checked() {
    let home = home();
    assert_eq!(home.run(&["check"]).code, 0);
    let yaml = format!("{AGENTS}  scribe: {{ blueprint: agent }}\n{PEOPLE}");
    home.write("foreword.yaml", yaml);
    let ran = home.run(&["check"]);
    assert_eq!(ran.code, 3, "{}", ran.stdout);
    assert!(ran.stdout.contains(".agents/prompt"), "{}", ran.stdout);
}

#[test]
fn chat_keeps_its_agent_until_handed_over() {
    let home = home();
    home.succeed(&["chat", "--conversation", "c-1", "--agent", "clerk", "hello"]);
    let ran = home.run(&["chat", "--conversation", "c-1", "--agent", "keeper", "hello"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("belongs to agent `clerk`"), "{}", ran.stderr);
    let ran = home.run(&["chat", "--agent", "clrk", "hello"]);
    assert_eq!(ran.code, 3);
    let handed = home.json(&["--json", "agents", "hand-over", "c-1", "keeper", "--reason", "the accounts"]);
    assert_eq!(
        handed,
        json!({ "conversation": "c-1", "from": "clerk", "to": "keeper", "by": "alice", "reason": "the accounts", "number": 1 })
    );
    home.succeed(&["chat", "--conversation", "c-1", "--agent", "keeper", "hello"]);
    let again = home.run(&["agents", "hand-over", "c-1", "keeper"]);
    assert!(
        again.code == 1 && again.stderr.contains("belongs to agent `keeper` already"),
        "{}",
        again.stderr
    );
    let nowhere = home.run(&["agents", "hand-over", "c-9", "keeper"]);
    assert!(nowhere.code == 1 && nowhere.stderr.contains("c-9"), "{}", nowhere.stderr);
}

#[test]
fn chat_lists_agents_and_hands_over() {
    let home = home();
    let said = b"/agent\nhello\n/agent clerk a letter to write\nhello again\n/agent nobody\n";
    let ran = home.run_with_input(&["chat", "--conversation", "c-1"], said);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("`Ada` answers in this conversation.") && ran.stderr.contains("Answers letters."),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("`clerk` answers the next message"), "{}", ran.stderr);
    assert!(ran.stderr.contains("there is no agent `nobody` here"), "{}", ran.stderr);
    let prompt = home.run_with_input(&["chat", "--conversation", "c-1"], b"/prompt\n");
    assert!(prompt.stdout.contains("I write letters."), "{}", prompt.stdout);
}

#[test]
fn each_agent_has_its_own_layers() {
    let home = home();
    home.write("loop.md", "Count the money first.");
    home.succeed(&["layers", "--agent", "keeper", "set", "6", "loop.md"]);
    assert_eq!(home.succeed(&["layers", "show", "6", "--agent", "keeper"]).trim(), "Count the money first.");
    assert!(home.succeed(&["build", "--agent", "keeper"]).contains("Count the money first."));
    let yaml = format!("{AGENTS}  second: {{ blueprint: sovereign }}\n{PEOPLE}");
    home.write("foreword.yaml", yaml);
    assert!(!home.succeed(&["build", "--agent", "second"]).contains("Count the money first."));
}

#[test]
fn single_agent_can_not_hand_over() {
    let home = Home::with(&[("foreword.yaml", PEOPLE)]);
    home.succeed(&["chat", "--conversation", "c-1", "hello"]);
    let ran = home.run(&["agents", "hand-over", "c-1", "clerk"]);
    assert!(ran.code == 1 && ran.stderr.contains("only one agent"), "{}", ran.stderr);
    assert!(!home.succeed(&["build"]).contains("hand_over"));
}
