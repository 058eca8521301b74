//! `explain` and `diff`: the owner's view. Whole screens are snapshots, with hashes, times and folders masked.

use serde_json::{Value, json};

use crate::program::{Home, layer};

/// A screen without hashes and token counts that depend on the date.
fn masked(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = match (line.find("blake3:"), line.find("- Time: ")) {
            (Some(at), _) => format!("{}blake3:…", &line[..at]),
            (_, Some(at)) => format!("{}- Time: …", &line[..at]),
            _ if depends_on_the_date(line) => without_numbers(line),
            _ => line.to_owned(),
        };
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn depends_on_the_date(line: &str) -> bool {
    ["  runtime ", "Size ", "Price ", "--- ", "+++ "].iter().any(|start| line.starts_with(start))
}

fn without_numbers(line: &str) -> String {
    let is_bar = |word: &&str| word.chars().all(|c| ('\u{2588}'..='\u{258f}').contains(&c));
    let word = |word: &str| {
        let digits = word.trim_start_matches('$');
        if digits.starts_with(|c: char| c.is_ascii_digit()) && !word.contains('-') {
            "N".to_owned()
        } else {
            word.to_owned()
        }
    };
    line.split_whitespace().filter(|word| !is_bar(word)).map(word).collect::<Vec<_>>().join(" ")
}

/// The demo workspace on a model whose prices are set by these tests: the built-in table changes over time.
fn example_workspace() -> Home {
    let home = Home::made_for("gateway");
    let yaml = std::fs::read_to_string(home.path().join("foreword.yaml")).unwrap();
    let model = "\
providers: { local: { base_url: \"http://127.0.0.1:9/v1\" } }
prices:
  - id: local/priced
    context_window: 200000
    min_cacheable: 1024
    breakpoints: explicit
    prices: { input: 3, output: 15, cache_read: 0.3, cache_write_5m: 3.75 }
    source: these tests
    date: 2026-01-01
";
    home.write("foreword.yaml", format!("{}{model}", yaml.replace("offline/echo", "local/priced")));
    home
}

#[test]
fn explain_shows_alices_direct_message() {
    insta::assert_snapshot!(masked(&example_workspace().succeed(&["explain", "--user", "alice"])));
}

#[test]
fn bob_in_the_group() {
    let occasion = ["--user", "bob", "--channel", "signal:bob", "--situation", "group"];
    insta::assert_snapshot!(masked(&example_workspace().succeed(&[&["explain"], &occasion[..]].concat())));
}

#[test]
fn diff_from_alice_direct_to_bob_in_group() {
    let printed =
        example_workspace().succeed(&["diff", "--a", "user=alice", "--b", "user=bob,situation=group"]);
    insta::assert_snapshot!(masked(&printed));
}

#[test]
fn unknown_price_is_shown_as_unknown() {
    let home = Home::made_for("gateway");
    let printed = home.succeed(&["explain", "--model", "nobody/knows"]);
    assert!(printed.contains("Price   unknown cold, unknown warm"), "{printed}");
    assert!(!printed.contains('$'), "{printed}");
    let report = home.json(&["--json", "explain", "--model", "nobody/knows"]);
    assert!(!report["price"].to_string().contains('0'), "{}", report["price"]);
}

#[test]
fn warm_turn_is_cheaper_than_a_cold_one() {
    let printed = example_workspace().succeed(&["explain", "--user", "alice"]);
    let line = printed.lines().find(|line| line.starts_with("Price")).unwrap();
    let prices: Vec<f64> = line.split(['$', ' ']).filter_map(|word| word.parse().ok()).collect();
    assert!(prices.len() == 2 && prices[0] > prices[1] && prices[1] > 0.0, "{line}");
}

#[test]
fn explain_json_has_included_and_omitted_layers() {
    let home = example_workspace();
    let occasion = ["--user", "bob", "--situation", "group"];
    let built = home.json(&[&["build", "--format", "json"], &occasion[..]].concat());
    let explained = home.json(&[&["--json", "explain"], &occasion[..]].concat());
    assert_eq!(built["system"], explained["system"]);
    for one in built["layers"].as_array().unwrap() {
        let id = one["id"].as_str().unwrap();
        assert_eq!(layer(&explained, id).unwrap()["status"], one["status"], "{id}");
    }
    let statuses = |status: &str| -> Vec<&Value> {
        explained["layers"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["status"] == status)
            .map(|one| &one["id"])
            .collect()
    };
    assert_eq!(statuses("withheld"), ["workspace/HEARTBEAT.md", "user/USER.md", "long_term/MEMORY.md"]);
    assert_eq!(statuses("absent"), ["channel"]);
    assert_eq!(explained["occasion"]["user"], "bob");
    assert_eq!(explained["occasion"]["situation"], "group");
}

#[test]
fn every_build_reports_cut_layers() {
    let home = example_workspace();
    home.write("IDENTITY.md", "A long line about the house.\n".repeat(4_000));
    let printed = home.succeed(&["explain", "--user", "alice"]);
    assert!(printed.contains("cut from "), "{printed}");
    let ran = home.run(&["build", "--user", "alice"]);
    assert!(ran.stderr.contains("warning: `workspace/IDENTITY.md` was cut from "), "{}", ran.stderr);
    let report = home.json(&["build", "--format", "json", "--user", "alice"]);
    assert_eq!(layer(&report, "workspace/IDENTITY.md").unwrap()["status"], "cut");
    let total = report["tokens"]["total"].as_u64().unwrap();
    assert!(total <= report["budget"]["limit"].as_u64().unwrap());
}

#[test]
fn diff_json_lists_layers_and_epoch_change() {
    let home = example_workspace();
    let diff = home.json(&["--json", "diff", "--a", "user=alice", "--b", "user=bob,situation=group"]);
    let status = |id: &str| layer(&diff, id).map(|one| one["status"].clone());
    assert_eq!(status("soul"), Some("same".into()));
    assert_eq!(status("tools"), Some("changed".into()));
    assert_eq!(status("user/USER.md"), Some("removed".into()));
    assert_eq!(status("situation"), Some("added".into()));
    assert_eq!(diff["epoch"]["decision"], "open");
    assert_eq!(diff["epoch"]["message"], "trust fell from `full` to `familiar`");
    assert_eq!((&diff["a"]["trust"], &diff["b"]["trust"]), (&"full".into(), &"familiar".into()));
}

#[test]
fn only_hard_dependencies_start_a_new_epoch() {
    let home = example_workspace();
    home.write("elsewhere/x", "");
    let decision = |a: &str, b: &str| {
        home.json(&["--json", "diff", "--a", a, "--b", b])["epoch"]["decision"].as_str().unwrap().to_owned()
    };
    for change in [
        "user=carol",
        "situation=group",
        "agent=Other",
        "cwd=elsewhere",
        "channel=signal:x",
        "model=openai/gpt-4o",
    ] {
        assert_eq!(decision("user=alice", &format!("user=alice,{change}")), "open", "{change}");
    }
    assert_eq!(decision("", ""), "reuse");
    assert_eq!(decision("user=alice", "user=alice,conversation=c-2"), "reuse");
    let channels = ("user=alice,channel=signal:one", "user=alice,channel=signal:two");
    assert_eq!(decision(channels.0, channels.1), "reuse", "one family of channels");
    let same = home.json(&["--json", "diff"]);
    assert_eq!(same["epoch"], json!({ "decision": "reuse", "drifted": [] }));
}
