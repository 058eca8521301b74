//! Which user sees which file, by the acceptance table: seed 000's trust table and channel resolution.

use serde::Deserialize;
use serde_json::Value;

use crate::program::{Home, PEOPLE, layer, layer_text};

const FIXTURE: &str = include_str!("../fixtures/trust_visibility.yaml");
/// Every file of the convention, with a unique text.
const FILES: [(&str, &str); 8] = [
    ("SOUL.md", "marker-soul-5f1c"),
    ("AGENTS.md", "marker-agents-a7d2"),
    ("TOOLS.md", "marker-tools-91be"),
    ("IDENTITY.md", "marker-identity-c03f"),
    ("users/alice/USER.md", "marker-user-alice-77aa"),
    ("users/bob/USER.md", "marker-user-bob-18cd"),
    ("MEMORY.md", "marker-memory-4e90"),
    ("HEARTBEAT.md", "marker-heartbeat-bb36"),
];
const MEMORIES: [(&str, &str); 3] =
    [("private", "marker-private-0d1e"), ("shared", "marker-shared-2f3a"), ("social", "marker-social-4b5c")];

#[derive(Deserialize)]
struct Fixture {
    cases: Vec<Case>,
    channels: Vec<ChannelCase>,
}

#[derive(Deserialize)]
struct Case {
    user: String,
    situation: String,
    effective: String,
    sees: Vec<String>,
    hidden: Vec<String>,
}

#[derive(Deserialize)]
struct ChannelCase {
    channel: String,
    workspace_file: Option<String>,
    layer: String,
}

fn fixture() -> Fixture {
    serde_saphyr::from_str(FIXTURE).unwrap()
}

/// A workspace with all files; each memory store has a note with a unique description and body.
fn example_workspace() -> Home {
    let home = Home::with(&[("foreword.yaml", PEOPLE)]);
    for (path, marker) in FILES {
        home.write(path, format!("# {marker}\n\nText of {marker}.\n"));
    }
    home.write("MEMORY.md", "---\ndescription: what lasts\n---\nmarker-memory-4e90\n");
    for (store, marker) in MEMORIES {
        home.write(
            &format!("memory/{store}/note.md"),
            format!("---\ndescription: about-{marker}\n---\n{marker}\n"),
        );
    }
    home
}

fn marker_of(path: &str) -> &'static str {
    FILES.into_iter().find(|(file, _)| *file == path).unwrap().1
}

fn build(home: &Home, case: &Case) -> Value {
    home.json(&["build", "--format", "json", "--user", &case.user, "--situation", &case.situation])
}

#[test]
fn effective_trust_matches_the_table() {
    let home = example_workspace();
    for case in fixture().cases {
        let report = build(&home, &case);
        assert_eq!(report["trust"]["effective"], case.effective, "{} in {}", case.user, case.situation);
    }
}

#[test]
fn visible_file_is_included_and_memory_md_listed() {
    let home = example_workspace();
    for case in fixture().cases {
        let report = build(&home, &case);
        let (text, who) = (report["text"].as_str().unwrap(), format!("{} in {}", case.user, case.situation));
        for path in &case.sees {
            if path == "MEMORY.md" {
                let line = text.lines().find(|line| line.starts_with("- MEMORY.md ("));
                let line = line.unwrap_or_else(|| panic!("{who}: no line for MEMORY.md in {text}"));
                assert!(line.ends_with(" tok) — what lasts"), "{line}");
                assert_eq!(layer(&report, "long_term/MEMORY.md").unwrap()["status"], "menu");
                assert!(
                    !report.to_string().contains(marker_of(path)),
                    "{who}: the text of MEMORY.md is there"
                );
            } else {
                assert!(text.contains(&format!("Text of {}.", marker_of(path))), "{who} must see {path}");
            }
        }
    }
}

#[test]
fn hidden_file_leaves_no_trace_in_any_format() {
    let home = example_workspace();
    for case in fixture().cases {
        let occasion = ["--user", &case.user, "--situation", &case.situation];
        let who = format!("{} in {}", case.user, case.situation);
        for format in ["text", "json", "anthropic", "openai"] {
            let printed = home.succeed(&[&["build", "--format", format], &occasion[..]].concat());
            for path in &case.hidden {
                assert!(!printed.contains(marker_of(path)), "{who} sees text of {path} as {format}");
                assert!(!printed.contains(path.as_str()), "{who} sees the name {path} as {format}");
                // A user who sees no USER.md must not learn that the file exists.
                let own = case.sees.iter().any(|seen| seen.ends_with("USER.md"));
                assert!(own || !printed.contains("USER.md"), "{who} learns of USER.md as {format}");
            }
        }
    }
}

/// The sizes of hidden files don't leak: the output has the same bytes whatever their sizes.
#[test]
fn hidden_file_sizes_change_nothing() {
    let small = example_workspace();
    for case in fixture().cases {
        let large = example_workspace();
        for path in &case.hidden {
            large.write(path, format!("# {}\n\n{}", marker_of(path), "weight ".repeat(4_000)));
        }
        let (one, other) = in_the_same_minute(|| (build(&small, &case), build(&large, &case)));
        assert!(one == other, "{} in {} can tell", case.user, case.situation);
    }
}

/// Two reports from the same minute: the time may change between them.
fn in_the_same_minute(build_both: impl Fn() -> (Value, Value)) -> (Value, Value) {
    let clock = |report: &Value| {
        let text = report["text"].as_str().unwrap();
        text.lines().find(|line| line.starts_with("- Time: ")).unwrap().to_owned()
    };
    loop {
        let (one, other) = build_both();
        if clock(&one) == clock(&other) {
            return (one, other);
        }
    }
}

#[test]
fn memory_menu_lists_only_permitted_stores_without_text() {
    let home = example_workspace();
    let expected: [(&str, &str, &[&str]); 4] = [
        ("alice", "dm", &["private", "shared", "social"]),
        ("bob", "dm", &["shared", "social"]),
        ("carol", "dm", &["social"]),
        ("mallory", "dm", &[]),
    ];
    for (user, situation, open) in expected {
        let printed = home.succeed(&["build", "--format", "json", "--user", user, "--situation", situation]);
        for (store, marker) in MEMORIES {
            let listed = printed.contains(&format!("- {store}/note.md ("));
            assert_eq!(listed, open.contains(&store), "{user}: {store}");
            assert_eq!(printed.contains(&format!("about-{marker}")), listed, "{user}: {store}");
            assert!(!printed.contains(&format!("\\n{marker}")), "{user} reads the text of {store}");
        }
        assert_eq!(printed.contains("Available Memory"), !open.is_empty(), "{user}");
    }
}

#[test]
fn owner_in_a_group_sees_what_known_users_see() {
    let home = example_workspace();
    let frozen = |user| {
        let report = home.json(&["build", "--format", "json", "--user", user, "--situation", "group"]);
        report["fingerprint"].as_str().unwrap().to_owned()
    };
    assert_eq!(frozen("alice"), frozen("carol"));
}

#[test]
fn explain_shows_withheld_layers_and_reasons() {
    let home = example_workspace();
    let report = home.json(&["--json", "explain", "--user", "bob", "--situation", "group"]);
    for id in ["workspace/HEARTBEAT.md", "user/USER.md", "long_term/MEMORY.md"] {
        let layer = layer(&report, id).unwrap_or_else(|| panic!("explain is silent about {id}"));
        assert_eq!(layer["status"], "withheld");
        assert!(layer["reason"].as_str().unwrap().ends_with("this is `familiar`"), "{layer}");
        assert_eq!(layer["tokens"], 0, "what is withheld is not even weighed");
    }
    assert!(!report.to_string().contains(marker_of("HEARTBEAT.md")), "withheld means: not read");
}

#[test]
fn channel_layer_is_workspace_file_or_built_in() {
    for case in fixture().channels {
        let home = Home::with(&[("foreword.yaml", PEOPLE)]);
        let family = case.channel.split(':').next().unwrap();
        if let Some(text) = &case.workspace_file {
            home.write(&format!("channels/{family}.md"), text);
        }
        let report = home.json(&["--json", "explain", "--user", "alice", "--channel", &case.channel]);
        let found = layer(&report, "channel").unwrap();
        match case.layer.as_str() {
            "none" => assert_eq!(found["status"], "absent", "{}", case.channel),
            "builtin" => {
                assert_eq!((&found["status"], &found["source"]), (&"included".into(), &"builtin".into()));
                assert_eq!(found["origin"], format!("channel-{family}"));
            }
            verbatim => {
                assert_eq!(found["source"], "file", "{}", case.channel);
                assert_eq!(layer_text(&report, "channel").unwrap().trim_matches('\n'), verbatim);
            }
        }
    }
}
