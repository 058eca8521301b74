//! Withheld items are neither named nor counted: the answer is the same as for items that don't exist.

use std::fs;

use foreword_agent::conversation::inbound::TurnOrigin;
use foreword_core::id::TurnId;
use foreword_core::provider::WireDialect;
use foreword_testkit::Reply;
use foreword_workspace::speaker::Speaker;
use serde_json::{Value, json};

use super::audit::Sent;
use super::corpus::sings;
use super::stage::{Calls, turn};
use crate::fixture::{Fixture, in_group, on};

/// A path that does not exist.
const PLACE: &str = "situations: { quokkaplace: { ceiling: full } }\n";

/// A workspace with private items, each with a canary in its name.
async fn fixture() -> Fixture {
    let fixture = Fixture::with(Reply::text("Well."), WireDialect::Anthropic, PLACE).await;
    let config = fs::read_to_string(fixture.folder.path().join("foreword.yaml")).unwrap();
    let config = config.replace(
        "users:\n",
        "users:\n  - { name: quokkauser, trust: full, match: [\"signal:quokkauser\"] }\n",
    );
    write(&fixture, "foreword.yaml", &config);
    write(&fixture, "memory/private/quokkafile.md", "# quokkatitle\n\nquokkaword and tea");
    write(&fixture, "memory/private/quokkafolder/x.md", "quokkadeep");
    write(&fixture, "MEMORY.md", "quokkamemory");
    write(&fixture, "HEARTBEAT.md", "quokkaheartbeat");
    for user in ["alice", "quokkauser"] {
        let skill = "---\nname: quokkaskill\ndescription: quokkaskill does it.\n---\n\nquokkabody";
        write(&fixture, &format!("users/{user}/skills/quokkaskill/SKILL.md"), skill);
        write(&fixture, &format!("users/{user}/USER.md"), "quokkaperson");
    }
    fixture.workspace.refresh();
    let private = vec![
        ("memory_write", json!({ "store": "private", "title": "quokkanote", "text": "quokkaword" })),
        ("skill_get", json!({ "name": "quokkaskill" })),
        ("read_file", json!({ "path": "memory/private/quokkanone.md" })),
    ];
    for conversation in ["quokka-conversation", "c-shared"] {
        let who = TurnOrigin {
            speaker: Speaker { user: Some("quokkauser".into()), ..on("signal:quokkauser").speaker.clone() },
            ..on("signal:quokkauser")
        };
        turn(&fixture, conversation, who, "quokkaquestion", vec![private.clone()]).await;
    }
    fixture
}

fn write(fixture: &Fixture, path: &str, text: &str) {
    let path = fixture.folder.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Queries for existing and similar names; none contains the name itself.
fn questions(turn: &TurnId) -> Vec<Calls> {
    let asks = |tool, name: &str, values: &[&str]| {
        values.iter().map(|value| (tool, json!({ name: value }))).collect()
    };
    let near: [Calls; 8] = [
        asks(
            "memory_get",
            "path",
            &["private/quokafile.md", "private/quok", "../private", "MEMORY", "private/", ""],
        ),
        asks("memory_search", "query", &["tea", "quok", "private", "birthday Carol peonies"]),
        asks(
            "read_file",
            "path",
            &["memory/private/quokafile.md", "memory/private", "users/alice/USER.mdx", "users", ".foreword"],
        ),
        asks("skill_get", "name", &["quokaskill", "", "skill"]),
        asks("foreword_logs", "user", &["alice", "quokauser"]),
        asks("foreword_logs", "session_id", &["quok-conversation", "c-shared"]),
        asks("foreword_trace", "turn", &[turn.as_str(), "t-1"]),
        vec![
            ("foreword_status", json!({})),
            ("foreword_logs", json!({})),
            ("foreword_logs", json!({ "level": "warn" })),
        ],
    ];
    let tools =
        ["bsh", "bash", "write_fil", "update_prompt_layers", "read_fil", "memory_serch", "foreword", ""];
    let mut all = near.to_vec();
    all.push(tools.into_iter().map(|tool| (tool, json!({}))).collect());
    all
}

fn people() -> [(&'static str, TurnOrigin); 6] {
    [
        ("bob", on("signal:bob")),
        ("carol", on("signal:carol")),
        ("mallory", on("signal:mallory")),
        ("alice-in-group", in_group("terminal:default")),
        ("bob-in-group", in_group("signal:bob")),
        ("mallory-in-group", in_group("signal:mallory")),
    ]
}

#[tokio::test]
async fn withheld_names_are_in_no_answer() {
    let fixture = fixture().await;
    let turns = fixture.log().await.into_iter().find_map(|event| event.event.turn_id).unwrap();
    for (name, occasion) in people() {
        // In their own conversation, and in one with earlier messages of a more trusted user.
        for conversation in [format!("c-{name}"), "c-shared".to_owned()] {
            let first = fixture.provider.requests().len();
            turn(&fixture, &conversation, occasion.clone(), "What is there?", questions(&turns)).await;
            for request in &fixture.provider.requests()[first..] {
                let sent = Sent::of(request);
                for text in [&sent.frozen, &sent.user, &sent.results].into_iter().flatten() {
                    assert!(!sings(text), "{name} in {conversation} reads {text}");
                }
            }
        }
    }
}

#[tokio::test]
async fn tools_above_the_trust_are_not_suggested() {
    let fixture = fixture().await;
    for (name, occasion) in people() {
        let calls: Calls = ["bsh", "write_fil", "update_prompt_laye"].map(|tool| (tool, json!({}))).to_vec();
        let (seen, _) = turn(&fixture, &format!("c-{name}"), occasion, "Do it.", vec![calls]).await;
        for (asked, content, _) in seen.results() {
            let rest = content.replace(&format!("`{asked}`"), "");
            assert!(
                !["bash", "write_file", "update_prompt_layer"].iter().any(|tool| rest.contains(tool)),
                "{name}: {rest}"
            );
        }
    }
}

#[tokio::test]
async fn withheld_and_missing_items_get_the_same_answer() {
    let fixture = fixture().await;
    let turn_of_alice = fixture.log().await.into_iter().find_map(|event| event.event.turn_id).unwrap();
    let pairs: Vec<(&'static str, &str, [&str; 2])> = vec![
        ("memory_get", "path", ["private/quokkafile.md", "private/quokkaless.md"]),
        ("memory_search", "query", ["quokkaword", "quokkabird"]),
        ("read_file", "path", ["memory/private/quokkafile.md", "memory/private/quokkaless.md"]),
        ("read_file", "path", ["users/alice/USER.md", "users/alice/LESS.md"]),
        ("read_file", "path", ["users/quokkauser/USER.md", "users/quokkaless/USER.md"]),
        ("read_file", "path", ["users/quokkauser", "users/quokkaless"]),
        ("read_file", "path", ["users/quokkauser/skills", "users/quokkaless/skills"]),
        ("read_file", "path", ["memory/private/quokkafolder", "memory/private/quokkavoid"]),
        ("skill_get", "name", ["quokkaskill", "quokkaskull"]),
        ("foreword_logs", "user", ["quokkauser", "quokkaless"]),
        ("foreword_logs", "session_id", ["quokka-conversation", "quokka-conversazione"]),
        ("foreword_trace", "turn", [turn_of_alice.as_str(), "t-less"]),
    ];
    for (name, occasion) in people() {
        for (tool, argument, [there, not_there]) in &pairs {
            let call = |value: &str| (*tool, Value::from_iter([(*argument, value)]));
            let asked = vec![vec![call(there), call(not_there)]];
            let (seen, _) = turn(&fixture, &format!("c-{name}"), occasion.clone(), "Well?", asked).await;
            let results = seen.results();
            let rest: Vec<String> = [there, not_there]
                .iter()
                .zip(&results)
                .map(|(name, (_, rest, _))| rest.replace(*name, "…"))
                .collect();
            assert_eq!(rest[0], rest[1], "{name}: {tool}");
            assert_eq!(results[0].2, results[1].2, "{name}: {tool}");
        }
    }
}
