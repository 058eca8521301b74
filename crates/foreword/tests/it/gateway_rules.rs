//! Seed 000's rules for blueprint `gateway`, except file visibility: overlays, per-user files, missing files, unknown
//! users and situations.

use crate::program::{Home, PEOPLE, layer, layer_text, warning_codes};

/// The example configuration of the seed.
const EXAMPLE: &str = "\
situations:
  dm:
    ceiling: full
  group:
    ceiling: familiar
    prompt_overlay: ./prompts/group-rules.md
  system:
    ceiling: full
    prompt_overlay: ./prompts/heartbeat-rules.md
prompt:
  files:
    - path: MEMORY.md
      trust: full
    - path: TOOLS.md
      trust: familiar
    - path: IDENTITY.md
      trust: familiar
    - path: USER.md
      per_user: true
      trust: inner
";

fn example() -> Home {
    let home = Home::with(&[
        ("SOUL.md", "Soul text."),
        ("AGENTS.md", "Behaviour text."),
        ("TOOLS.md", "Tool notes."),
        ("IDENTITY.md", "Identity text."),
        ("MEMORY.md", "Long-term facts."),
        ("HEARTBEAT.md", "Periodic tasks."),
        ("users/alice/USER.md", "About alice."),
        ("users/bob/USER.md", "About bob."),
        ("prompts/group-rules.md", "Rules of the group."),
        ("prompts/heartbeat-rules.md", "Rules of the check."),
    ]);
    home.write("foreword.yaml", format!("{PEOPLE}{EXAMPLE}"));
    home
}

fn text(home: &Home, occasion: &[&str]) -> String {
    home.succeed(&[&["build"], occasion].concat())
}

#[test]
fn seed_example_gates_files_as_specified() {
    let home = example();
    let group = text(&home, &["--user", "alice", "--situation", "group"]);
    assert!(group.contains("Tool notes.") && group.contains("Identity text."), "{group}");
    assert!(!group.contains("MEMORY.md") && !group.contains("About alice."), "{group}");
    let dm = text(&home, &["--user", "alice", "--situation", "dm"]);
    assert!(dm.contains("- MEMORY.md (") && dm.contains("About alice."), "{dm}");
}

#[test]
fn memory_md_is_only_an_index_line() {
    let home = example();
    let line = |home: &Home| {
        let prompt = text(home, &["--user", "alice"]);
        assert!(!prompt.contains("Long-term facts."), "{prompt}");
        prompt.lines().find(|line| line.starts_with("- MEMORY.md (")).unwrap().to_owned()
    };
    assert!(line(&home).ends_with(" tok) — long-term facts, people, dates, preferences"), "{}", line(&home));
    home.write("memory/private/MEMORY.md", "Long-term facts.\n");
    let prompt = text(&home, &["--user", "alice"]);
    let private = prompt.lines().find(|line| line.starts_with("- private/MEMORY.md (")).unwrap();
    assert!(private.ends_with(" tok) — long-term facts, people, dates, preferences"), "{private}");
    home.write("MEMORY.md", "---\ndescription: dates and people\n---\nLong-term facts.\n");
    assert!(line(&home).ends_with(" tok) — dates and people"));
}

#[test]
fn unlisted_file_is_not_loaded() {
    assert!(!text(&example(), &["--user", "alice"]).contains("Periodic tasks."));
}

#[test]
fn overlay_is_appended_only_in_its_situation() {
    let home = example();
    for (situation, shown, not_shown) in [
        ("group", "Rules of the group.", "Rules of the check."),
        ("system", "Rules of the check.", "Rules of the group."),
    ] {
        let report = home.json(&["build", "--format", "json", "--user", "alice", "--situation", situation]);
        assert_eq!(layer_text(&report, "situation").unwrap().trim(), shown);
        assert!(!report.to_string().contains(not_shown), "{situation}");
    }
    let dm = text(&home, &["--user", "alice", "--situation", "dm"]);
    assert!(!dm.contains("Rules of the"), "{dm}");
}

#[test]
fn missing_overlay_is_skipped_and_reported_to_the_owner() {
    let home = example();
    home.remove("prompts/group-rules.md");
    let report = home.json(&["--json", "explain", "--user", "alice", "--situation", "group"]);
    assert_eq!(layer(&report, "situation").unwrap()["status"], "absent");
    assert_eq!(warning_codes(&report), ["missing_overlay"]);
    let bob = home.json(&["build", "--format", "json", "--user", "bob", "--situation", "group"]);
    assert_eq!(warning_codes(&bob), Vec::<&str>::new(), "bob has no business with it");
}

#[test]
fn per_user_file_is_shown_to_that_user_only() {
    let home = example();
    for (user, own, other) in [("alice", "About alice.", "About bob."), ("bob", "About bob.", "About alice.")]
    {
        let prompt = text(&home, &["--user", user]);
        assert!(prompt.contains(own) && !prompt.contains(other), "{user}");
    }
}

#[test]
fn user_skills_are_private() {
    let home = example();
    home.write("skills/shared/SKILL.md", "---\nname: shared\ndescription: for everybody\n---\nDo it.\n");
    home.write("users/bob/skills/oak/SKILL.md", "---\nname: oak\ndescription: bob's oak\n---\nSaw it.\n");
    let listed = |user: &str, situation: &str, line: &str| {
        text(&home, &["--user", user, "--situation", situation]).contains(line)
    };
    assert!(listed("bob", "dm", "- oak: bob's oak"));
    assert!(!listed("alice", "dm", "oak"));
    assert!(!listed("bob", "group", "oak"), "in a group bob is only familiar");
    assert!(listed("carol", "group", "- shared: for everybody"));
}

#[test]
fn missing_files_leave_no_marker_or_bare_heading() {
    let home = example();
    for path in ["TOOLS.md", "IDENTITY.md", "MEMORY.md", "users/alice/USER.md"] {
        home.remove(path);
        let prompt = text(&home, &["--user", "alice"]);
        let name = path.rsplit('/').next().unwrap();
        assert!(!prompt.contains(name), "{name} is still spoken of");
        assert!(!prompt.to_lowercase().contains("missing"), "{prompt}");
    }
    home.write("TOOLS.md", "  \n\n");
    assert!(!text(&home, &["--user", "alice"]).contains("TOOLS.md"), "a blank file has no heading either");
}

#[test]
fn missing_soul_uses_the_built_in_text_with_notice() {
    let home = example();
    home.remove("SOUL.md");
    let report = home.json(&["build", "--format", "json", "--user", "carol"]);
    let soul = layer(&report, "soul").unwrap();
    assert_eq!((&soul["source"], &soul["origin"]), (&"builtin".into(), &"gateway-soul".into()));
    assert_eq!(warning_codes(&report), ["fallback"]);
    let ran = home.run(&["build", "--user", "carol"]);
    assert!(ran.stderr.contains("warning: there is nothing in `SOUL.md`"), "{}", ran.stderr);
}

#[test]
fn blank_soul_counts_as_missing() {
    let home = example();
    home.write("SOUL.md", " \n");
    let report = home.json(&["build", "--format", "json", "--user", "carol"]);
    assert_eq!(layer(&report, "soul").unwrap()["source"], "builtin");
}

#[test]
fn override_mark_replaces_the_built_in_text() {
    let home = example();
    let yaml = "\
agent: { blueprint: mine }
blueprints:
  mine:
    layers:
      - { id: soul, title: Soul, authority: identity, stability: agent, trust: public,
          source: { file: SOUL.md, builtin: gateway-soul }, merge: append }
";
    home.write("foreword.yaml", format!("{PEOPLE}{yaml}"));
    let appended = text(&home, &["--user", "alice"]);
    assert!(appended.ends_with("\n\nSoul text.") && appended.len() > 100, "{appended}");
    home.write("SOUL.md", "<!-- override -->\nMine alone.\n");
    assert_eq!(text(&home, &["--user", "alice"]), "Mine alone.");
}

#[test]
fn unknown_user_is_public_and_causes_a_warning() {
    let home = example();
    let report = home.json(&["build", "--format", "json", "--user", "bbo"]);
    assert_eq!(report["trust"]["effective"], "public");
    assert!(!report.to_string().contains("bob"), "a stranger must not learn who is known here");
    let ran = home.run(&["build", "--user", "bbo"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("warning: unknown user `bbo`, so trust is `public`"), "{}", ran.stderr);
    let explained = home.json(&["--json", "explain", "--user", "bbo"]);
    assert_eq!(warning_codes(&explained), ["unknown_user", "hint"]);
}

#[test]
fn unknown_situation_is_public_with_a_warning() {
    let home = example();
    let ran = home.run(&["build", "--user", "alice", "--situation", "grup"]);
    assert!(ran.stderr.contains("warning: there is no situation `grup`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("did you mean `group`?"), "{}", ran.stderr);
    assert!(!ran.stdout.contains("Soul text."), "{}", ran.stdout);
    let explained = home.json(&["--json", "explain", "--user", "alice", "--situation", "grup"]);
    assert_eq!(explained["trust"]["effective"], "public");
    assert_eq!(warning_codes(&explained), ["unknown_situation", "hint"]);
}

#[test]
fn channel_determines_the_user_unless_named() {
    let home = example();
    let trust =
        |args: &[&str]| home.json(&[&["build", "--format", "json"], args].concat())["trust"]["user"].clone();
    assert_eq!(trust(&[]), "full", "whoever sits at the terminal is alice");
    assert_eq!(trust(&["--channel", "signal:bob"]), "inner");
    assert_eq!(trust(&["--channel", "signal:nobody"]), "public");
    assert_eq!(trust(&["--channel", "signal:bob", "--user", "carol"]), "familiar");
}

#[test]
fn custom_situation_is_limited_to_familiar_by_default() {
    let home = Home::new();
    home.write("foreword.yaml", format!("{PEOPLE}situations:\n  club: {{}}\n  home: {{ ceiling: full }}\n"));
    let effective = |situation| {
        let report = home.json(&["build", "--format", "json", "--user", "alice", "--situation", situation]);
        report["trust"]["effective"].clone()
    };
    assert_eq!(effective("club"), "familiar");
    assert_eq!(effective("home"), "full");
}

#[test]
fn layers_are_ordered_by_stability_on_every_occasion() {
    let home = example();
    let rank =
        |word: &str| ["static", "agent", "conversation", "turn"].iter().position(|known| *known == word);
    for occasion in [["alice", "dm"], ["alice", "group"], ["bob", "system"], ["mallory", "dm"]] {
        let report =
            home.json(&["build", "--format", "json", "--user", occasion[0], "--situation", occasion[1]]);
        let ranks: Vec<_> = report["layers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| rank(one["stability"].as_str().unwrap()))
            .collect();
        assert!(ranks.is_sorted() && ranks.iter().all(Option::is_some), "{occasion:?}: {ranks:?}");
    }
}

#[test]
fn channel_name_can_not_escape_its_folder() {
    let home = example();
    for channel in ["../TOOLS:x", "./../HEARTBEAT:x", "/etc/hosts:x", "..:x", "sig\nnal:x"] {
        let report = home.json(&["--json", "explain", "--user", "carol", "--channel", channel]);
        assert_eq!(layer(&report, "channel").unwrap()["status"], "absent", "{channel}");
        let runtime = layer_text(&report, "runtime").unwrap();
        assert_eq!(runtime.matches("\n- ").count(), 5, "one line each, whatever the name holds: {runtime}");
    }
}

#[test]
fn cut_marker_has_lines_only_if_they_match() {
    let long: String = (1..=400).map(|line| format!("line {line} of the soul\n")).collect();
    let cut = |text: &str| {
        let home = Home::with(&[("SOUL.md", text)]);
        home.write("foreword.yaml", format!("{PEOPLE}prompt: {{ budget: {{ tokens: 1500 }} }}\n"));
        home.succeed(&["build", "--user", "alice"])
    };
    let marked = cut(&long);
    assert!(marked.contains("cut here") && marked.contains("memory_get(\"SOUL.md\", "), "{marked}");
    // Leading blank lines are not part of the prompt, so its line numbers no longer match the file's.
    let shifted = cut(&format!("\n\n{long}"));
    assert!(shifted.contains("cut here") && !shifted.contains("memory_get(\"SOUL.md\""), "{shifted}");
}
