//! `foreword trace`: a turn as a tree of spans.

use foreword_testkit::{FakeProvider, Reply};
use serde_json::{Value, json};

use crate::priced_workspace::{answer, home};
use crate::program::Home;

/// A turn that was rate-limited, called a tool and answered.
fn a_busy_turn() -> (FakeProvider, Home) {
    let provider = FakeProvider::start([
        Reply::status(529),
        Reply::tool_call("memory_search", json!({ "query": "Carol" })),
        answer("The 14th of March.", 1_000, 10),
    ])
    .unwrap();
    let home = home(&provider, "");
    home.succeed(&["chat", "--conversation", "c-1", "when is Carol's birthday?"]);
    (provider, home)
}

/// The line of a span, from its name on.
fn span<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text.lines().find(|line| line.contains(&format!("─ {name} ")));
    line.unwrap_or_else(|| panic!("no {name} in\n{text}"))
}

#[test]
fn turn_tree_shows_retries_waits_tokens_and_cost() {
    let (_provider, home) = a_busy_turn();
    let text = home.succeed(&["trace", "last"]);
    let head: Vec<&str> = text.lines().take(2).collect();
    assert!(
        head[0].starts_with("turn t-") && head[0].contains(" of c-1: done, at full trust, on node-"),
        "{text}"
    );
    assert!(head[1].contains("; 2 calls, 1 failed, ") && head[1].contains(", cost $"), "{text}");
    assert!(span(&text, "api_error").contains("529"), "{text}");
    assert!(span(&text, "wait").contains("┄"), "{text}");
    assert!(span(&text, "tool_call").contains("tool=memory_search"), "{text}");
    assert!(text.contains("1,000 in, 10 out, $1.1000"), "{text}");
    let order = ["api_error", "wait", "tool_call"].map(|name| text.find(&format!("─ {name} ")).unwrap());
    assert!(order.is_sorted(), "{text}");
    assert!(!text.contains("14th of March") && !text.contains("birthday"), "{text}");
}

/// The names of spans with their parents'.
fn names(spans: &Value, parent: &str, out: &mut Vec<String>) {
    for span in spans.as_array().unwrap() {
        let name = span["name"].as_str().unwrap();
        out.push(format!("{parent}/{name}"));
        names(&span["children"], name, out);
    }
}

#[test]
fn json_tree_is_nested() {
    let (_provider, home) = a_busy_turn();
    let trace = home.json(&["--json", "trace", "last"]);
    assert_eq!(
        (&trace["session_id"], &trace["state"], &trace["calls"]),
        (&json!("c-1"), &json!("done"), &json!(2))
    );
    let mut found = Vec::new();
    names(&trace["spans"], "", &mut found);
    for expected in ["turn/api_error", "turn/wait", "turn/api_call", "turn/tool_call"] {
        assert!(found.contains(&expected.to_owned()), "{expected} not in {found:?}");
    }
    let whole = trace["duration_ms"].as_u64().unwrap();
    let top = &trace["spans"][0];
    assert!(
        top["offset_ms"].as_u64().unwrap() + top["duration_ms"].as_u64().unwrap() <= whole + 1,
        "{trace:#}"
    );
    assert!(top["events"][0]["timestamp"].is_string(), "{trace:#}");
}

#[test]
fn turn_is_found_by_a_unique_id_prefix() {
    let (provider, home) = a_busy_turn();
    let id = home.json(&["--json", "trace", "last"])["turn"].as_str().unwrap().to_owned();
    assert_eq!(home.json(&["--json", "trace", &id[..id.len() - 4]])["turn"], id.as_str());
    provider.push(answer("Yes.", 10, 1));
    home.succeed(&["chat", "--conversation", "c-1", "really?"]);
    let newer = home.json(&["--json", "trace", "last"])["turn"].as_str().unwrap().to_owned();
    assert_ne!(newer, id);
    let both = home.refused(1, &["trace", "t-"]);
    assert!(both.contains("2 turn ids start with `t-`") && both.contains(&newer), "{both}");
    let none = home.refused(1, &["trace", "t-nope"]);
    assert!(none.contains("unknown turn `t-nope`") && none.contains("`last` is the newest"), "{none}");
    let fresh = Home::made_for("gateway").refused(1, &["trace", "last"]);
    assert!(fresh.contains("no turns yet"), "{fresh}");
}

#[test]
fn hidden_turn_looks_like_an_unknown_one() {
    let (_provider, home) = a_busy_turn();
    let id = home.json(&["--json", "trace", "last"])["turn"].as_str().unwrap().to_owned();
    for turn in [id.as_str(), &id[..8], "last"] {
        let bob = ["trace", turn, "--as", "bob", "--conversation", "c-1"];
        let refused = home.refused(1, &bob);
        let is_hidden = refused.contains("unknown turn") || refused.contains("no turns yet");
        assert!(is_hidden && !refused.contains("start with"), "{refused}");
    }
}
