//! `foreword status`: the same as the agent's own tool.

use serde_json::{Value, json};

use crate::program::Home;

#[test]
fn status_without_events_creates_no_database() {
    let home = Home::made_for("gateway");
    let before = home.listing();
    let ran = home.run(&["status"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains(", nothing stored yet\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("memory, observations: private 0, shared 0, social 0\n"), "{}", ran.stdout);
    assert!(ran.stderr.contains("start a conversation with `foreword chat`"), "{}", ran.stderr);
    let status = home.json(&["--json", "status"]);
    assert_eq!(status["store"], json!(null));
    assert_eq!((&status["conversations"]["count"], &status["errors"]), (&json!(0), &json!([])));
    assert_eq!(home.listing(), before);
}

#[test]
fn owner_sees_channels_conversations_memory_and_errors() {
    let home = Home::made_for("gateway");
    home.succeed(&["chat", "--conversation", "c-1", "remember that the key is under the pot"]);
    home.succeed(&["chat", "--conversation", "c-2", "--channel", "signal:bob", "hello"]);
    assert_eq!(home.run(&["chat", "--conversation", "c-1", "!fail 401"]).code, 1);
    let text = home.succeed(&["status"]);
    for expected in [
        ", stored in a SQLite file\n",
        "\n- terminal:default: last message ",
        "\n- signal:bob: last message ",
        "\nconversations active in the last 24 hours: 2\n- c-1: alice at terminal:default, dm, last active ",
        "\nmemory, observations: private 1, shared 0, social 0\n",
        " error api_error ",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(!text.contains(&*home.path().to_string_lossy()), "{text}");
    let status = home.json(&["--json", "status"]);
    assert_eq!(status["store"], "sqlite");
    assert_eq!(status["memory"], json!({ "private": 1, "shared": 0, "social": 0 }));
    assert_eq!(status["conversations"]["listed"][0]["id"], "c-1");
    assert!(status["channels"]["signal:bob"]["last_message"].is_string());
    assert_eq!(status["errors"][0]["session_id"], "c-1");
}

#[test]
fn status_matches_the_agents_tool() {
    let home = Home::made_for("gateway");
    home.succeed(&["chat", "--conversation", "c-1", "!say hello"]);
    let ran = home.succeed(&["--json", "chat", "--conversation", "c-1", "!tool foreword_status"]);
    let result = ran.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let from_tool = result
        .filter(|line| line["type"] == "tool_result")
        .map(|line| line["content"].clone())
        .next()
        .unwrap();
    // Times change, and only a turn has a node.
    let without_times = |text: &str| -> Vec<String> {
        text.lines().skip(1).map(|line| line.split(" 20").next().unwrap().to_owned()).collect()
    };
    let shown = home.succeed(&["status"]);
    assert_eq!(without_times(&shown), without_times(from_tool.as_str().unwrap()));
    assert!(without_times(&shown).len() >= 5, "{shown}");
}

#[test]
fn status_can_show_another_users_view() {
    let home = Home::made_for("gateway");
    home.succeed(&["chat", "--conversation", "c-1", "hello"]);
    home.succeed(&["chat", "--conversation", "c-2", "--user", "bob", "--situation", "group", "hello"]);
    assert_eq!(home.run(&["chat", "--conversation", "c-1", "!fail 401"]).code, 1);
    let bob = ["status", "--user", "bob", "--situation", "group"];
    let text = home.succeed(&bob);
    assert!(!text.contains("c-1") && !text.contains("c-2") && !text.contains("private"), "{text}");
    assert!(text.contains("memory, observations: social 0\nprompt layers: "), "{text}");
    assert!(text.ends_with("\nlatest errors: none\n"), "{text}");
    let in_it = home.succeed(&[&bob[..], &["--conversation", "c-2"]].concat());
    assert!(
        in_it.contains("\nthis conversation: c-2: bob at terminal:default, group, last active "),
        "{in_it}"
    );
    let stranger = home.run(&["status", "--user", "mallory"]);
    assert_eq!(stranger.code, 0);
    assert!(stranger.stdout.contains("memory: none here\nprompt layers: "), "{}", stranger.stdout);
    assert!(stranger.stdout.ends_with("\nlatest errors: none\n"), "{}", stranger.stdout);
    assert!(stranger.stderr.contains("unknown user `mallory`"), "{}", stranger.stderr);
    home.refused(2, &["status", "--conversation", "two words"]);
}

#[test]
fn status_lists_layers_at_the_viewers_trust() {
    let home = Home::made_for("sovereign");
    let layers = |args: &[&str]| home.json(args)["layers"].as_array().unwrap().clone();
    let before = layers(&["--json", "status"]);
    let ids: Vec<&str> = before.iter().map(|layer| layer["id"].as_str().unwrap()).collect();
    assert!(["0", "5", "6", "9"].iter().all(|id| ids.contains(id)), "{ids:?}");
    let six = |layers: &[Value]| layers.iter().find(|layer| layer["id"] == "6").unwrap().clone();
    assert_eq!((&six(&before)["mutable"], &six(&before)["version"]), (&true.into(), &Value::Null));
    home.run_with_input(&["layers", "set", "6", "-"], b"Look at the runway first.");
    let after = layers(&["--json", "status"]);
    assert!(six(&after)["version"].is_u64() && six(&after)["updated_at"].is_string(), "{after:?}");
    assert!(home.succeed(&["status"]).contains("; the agent may edit 6, 7, 8, 9"));
    // A layer above the viewer's trust is not listed, not even by name.
    let home = Home::made_for("gateway");
    let of = |args: &[&str]| -> Vec<String> {
        let status = home.json(args);
        status["layers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|layer| layer["trust"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(of(&["--json", "status"]).iter().any(|trust| trust != "public"));
    let strangers = of(&["--json", "status", "--user", "mallory"]);
    assert!(!strangers.is_empty() && strangers.iter().all(|trust| trust == "public"), "{strangers:?}");
}
