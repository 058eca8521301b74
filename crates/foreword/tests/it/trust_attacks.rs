//! Attempts to read a withheld file other than by its name: links, working directories, other kinds of sources. None of
//! them shows a byte of it to a user below its trust.

use crate::program::{Home, PEOPLE};

/// The texts of the restricted files.
const SECRETS: [&str; 4] = ["SECRET-MEMORY", "SECRET-PRIVATE", "SECRET-ALICE", "SECRET-SKILL"];

/// A workspace with secrets, configured by `yaml`.
fn secrets(yaml: &str) -> Home {
    let home = Home::with(&[
        ("MEMORY.md", "SECRET-MEMORY"),
        ("memory/private/people.md", "SECRET-PRIVATE"),
        ("memory/social/people.md", "known to all"),
        ("users/alice/USER.md", "SECRET-ALICE"),
        ("users/alice/skills/priv/SKILL.md", "---\nname: priv\ndescription: SECRET-SKILL\n---\nDo it."),
    ]);
    home.write("foreword.yaml", format!("{PEOPLE}{yaml}"));
    home
}

/// Checks that `args` print no secret on either stream; the command may fail.
fn keeps_secrets(home: &Home, args: &[&str]) {
    for format in ["text", "json", "anthropic"] {
        let ran = home.run(&[&["build", "--format", format], args].concat());
        for secret in SECRETS {
            assert!(!ran.stdout.contains(secret), "{args:?} as {format} shows {secret}:\n{}", ran.stdout);
        }
    }
}

const TEMPLATE: &str = "agent: { blueprint: template }\nprompt: { template_file: prompts/system.md }\n";

#[test]
fn link_from_an_allowed_name_reveals_no_withheld_file() {
    let home = secrets("");
    home.link("TOOLS.md", "MEMORY.md");
    home.link("channels/signal.md", "../MEMORY.md");
    home.link("users/bob/USER.md", "../alice/USER.md");
    home.link("skills/priv", "../users/alice/skills/priv");
    home.link("memory/social/link.md", "../private/people.md");
    for user in ["bob", "carol", "mallory"] {
        keeps_secrets(&home, &["--user", user, "--channel", "signal:bob"]);
    }
    assert!(
        home.succeed(&["build", "--user", "alice"]).contains("SECRET-MEMORY"),
        "the owner sees the link's text"
    );
}

#[test]
fn template_cannot_read_a_withheld_file() {
    let home = secrets(TEMPLATE);
    home.link("AGENTS.md", "MEMORY.md");
    home.link("memory/social/dir", "../private");
    home.write("memory/private/TOOLS.md", "SECRET-PRIVATE");
    home.write(
        "prompts/system.md",
        "<[file:AGENTS.md][file:memory/social/dir/people.md][file:TOOLS.md][file:alice/USER.md][file:USER.md]>",
    );
    for cwd in [".", "memory/private", "users", "users/alice"] {
        let cwd = home.path().join(cwd);
        for user in ["bob", "carol", "mallory"] {
            keeps_secrets(&home, &["--user", user, "--cwd", cwd.to_str().unwrap()]);
        }
    }
}

#[test]
fn user_folder_is_closed_to_the_owner() {
    let home = secrets(TEMPLATE);
    home.write("users/bob/USER.md", "about bob");
    home.write("prompts/system.md", "<[file:USER.md][file:users/bob/USER.md]>");
    let bobs = home.path().join("users/bob");
    assert_eq!(home.succeed(&["build", "--user", "alice"]), "<>");
    assert_eq!(home.succeed(&["build", "--user", "alice", "--cwd", bobs.to_str().unwrap()]), "<>");
    assert_eq!(home.succeed(&["build", "--user", "bob", "--cwd", bobs.to_str().unwrap()]), "<about bob>");
    let absolute = bobs.join("USER.md");
    let yaml = format!(
        "{PEOPLE}agent: {{ blueprint: template }}\nprompt: {{ template_file: t.md, allowed_paths: [{}] }}\n",
        home.path().display()
    );
    home.write("foreword.yaml", yaml);
    home.write("t.md", format!("<[file:{}]>", absolute.display()));
    assert_eq!(home.succeed(&["build", "--user", "alice"]), "<>");
    assert_eq!(home.succeed(&["build", "--user", "bob"]), "<about bob>");
}

#[test]
fn configured_files_need_the_trust_of_their_path() {
    for yaml in [
        "situations: { group: { prompt_overlay: MEMORY.md } }\n",
        "situations: { group: { prompt_overlay: memory/private/people.md } }\n",
        "agent: { blueprint: template }\nprompt: { template_file: MEMORY.md }\n",
        "agent: { blueprint: vm }\nprompt: { system_prompt: { identity_file: users/alice/USER.md, custom_instructions_file: memory/private/people.md } }\n",
        "prompt: { files: [{ path: memory/private/people.md, trust: familiar }, { path: users/alice/USER.md, trust: familiar }, { path: MEMORY.md, trust: full }] }\n",
    ] {
        let home = secrets(yaml);
        for user in ["carol", "mallory"] {
            keeps_secrets(&home, &["--user", user, "--situation", "group"]);
            keeps_secrets(&home, &["--user", user]);
        }
    }
}

#[test]
fn include_and_dotted_path_do_not_bypass_rules() {
    let layer = |source: &str| {
        format!(
            "agent: {{ blueprint: mine }}\nblueprints: {{ mine: {{ layers: [{{ id: x, stability: conversation, trust: public, source: {source} }}] }} }}\n"
        )
    };
    let home = secrets(&layer("{ template: ./t.md, dialect: jinja }"));
    for included in ["MEMORY.md", "./MEMORY.md", "link.md", "memory/private/people.md"] {
        home.write("t.md", format!("{{% include '{included}' %}}"));
        if included == "link.md" {
            home.link("link.md", "MEMORY.md");
        }
        keeps_secrets(&home, &["--user", "mallory"]);
    }
    let home = secrets(&layer("{ file: ./MEMORY.md }"));
    keeps_secrets(&home, &["--user", "carol"]);
}

#[test]
fn file_rule_never_lowers_layer_trust() {
    let home = secrets(
        "agent: { blueprint: mine }\nblueprints: { mine: { layers: [{ id: a, stability: agent, trust: full, source: { file: AGENTS.md } }, { id: w, stability: agent, trust: full, source: { files: { only: [TOOLS.md] } } }] } }\n",
    );
    home.write("AGENTS.md", "SECRET-MEMORY");
    home.write("TOOLS.md", "SECRET-MEMORY");
    keeps_secrets(&home, &["--user", "bob"]);
    assert!(home.succeed(&["build", "--user", "alice"]).contains("SECRET-MEMORY"));
}

#[test]
fn agent_name_does_not_expose_workspace_files() {
    let home = secrets("agent: { blueprint: agent }\nprompt: { prompts_dir: . }\n");
    home.write("SOUL.md", "{% include 'memory/private/people.md' %}");
    for agent in ["memory", "soul"] {
        keeps_secrets(&home, &["--user", "mallory", "--agent", agent]);
        keeps_secrets(&home, &["--user", "carol", "--agent", agent]);
    }
}

#[test]
fn withheld_files_are_never_opened() {
    let home = secrets("");
    let fifo = |path: &str| {
        let path = home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    // A FIFO that is opened for reading is rejected, and the rejection would fail the build.
    fifo("HEARTBEAT.md");
    fifo("users/bob/skills/odd/SKILL.md");
    fifo("memory/private/odd.md");
    home.succeed(&["build", "--user", "carol"]);
    home.succeed(&["build", "--user", "bob", "--situation", "group"]);
}

#[test]
fn skill_linked_to_user_folder_stays_private() {
    let home = secrets("agent: { blueprint: sovereign, active_skills: [priv] }\n");
    home.write("users/alice/skills/priv/SKILL.md", "---\nname: priv\ndescription: mine\n---\nSECRET-SKILL");
    home.link("skills/priv", "../users/alice/skills/priv");
    keeps_secrets(&home, &["--user", "bob"]);
    assert!(home.succeed(&["build", "--user", "alice"]).contains("SECRET-SKILL"));
}

#[test]
fn cut_of_active_skill_is_reported() {
    let home = secrets("agent: { blueprint: sovereign, active_skills: [long] }\n");
    let long = "Count every coin. ".repeat(300);
    home.write(
        "skills/long/SKILL.md",
        format!("---\nname: long\ndescription: long\n---\n{long}The last word."),
    );
    assert!(home.succeed(&["build"]).contains("The last word."));
}
