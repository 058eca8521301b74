//! A workspace whose files change: what `refresh` detects, what stays in force, and what is shared.

use std::fs::{self, File};
use std::sync::Arc;

use foreword_prompt::occasion::Channel;
use foreword_prompt::trust::Trust;
use foreword_workspace::build::Built;
use foreword_workspace::error::WorkspaceError;
use foreword_workspace::request::Request;
use foreword_workspace::speaker::Speaker;
use foreword_workspace::workspace::{Environment, RefreshOutcome, Workspace};
use jiff::Zoned;

use crate::workspace_folder::Folder;

const PEOPLE: &str = "\
users:
  - { name: alice, trust: full, match: [\"terminal:default\"] }
  - { name: bob, trust: inner }
";

pub(crate) fn open(folder: &Folder) -> Workspace {
    Workspace::open(&folder.path(), Environment::default()).unwrap()
}

fn noon() -> Zoned {
    "2026-03-14T12:00[UTC]".parse().unwrap()
}

fn request() -> Request {
    Request::at(noon(), [7; 16])
}

fn build(workspace: &Workspace) -> Arc<Built> {
    workspace.build(&request()).unwrap()
}

fn at(workspace: &Workspace, time: &str) -> Arc<Built> {
    workspace.build(&Request::at(time.parse().unwrap(), [7; 16])).unwrap()
}

fn text(workspace: &Workspace) -> String {
    build(workspace).prompt.text()
}

/// Only files have changed.
const FILES: RefreshOutcome = RefreshOutcome::Changed { sections: Vec::new(), files: true };

/// Only the configuration has changed.
fn sections(changed: &[&'static str]) -> RefreshOutcome {
    RefreshOutcome::Changed { sections: changed.to_vec(), files: false }
}

/// Checks that a refresh detects `change`, and that nothing changes before it.
fn sees(folder: &Folder, before: &str, change: impl Fn(), after: &str) {
    let workspace = open(folder);
    assert!(text(&workspace).contains(before));
    assert_eq!(workspace.refresh(), RefreshOutcome::Unchanged);
    change();
    assert!(text(&workspace).contains(before), "a snapshot stays as it was first read");
    assert!(matches!(workspace.refresh(), RefreshOutcome::Changed { .. }));
    let now = text(&workspace);
    assert!(now.contains(after) && !now.contains(before), "{now}");
    assert_eq!(workspace.refresh(), RefreshOutcome::Unchanged);
}

#[test]
fn edit_is_detected() {
    let folder = Folder::with(&[("SOUL.md", "You are kind.")]);
    sees(&folder, "You are kind.", || folder.write("SOUL.md", "You are patient."), "You are patient.");
}

#[test]
fn edit_with_same_size_and_time_is_detected() {
    let folder = Folder::with(&[("SOUL.md", "You are kind.")]);
    let path = folder.path().join("SOUL.md");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let edit = || {
        folder.write("SOUL.md", "You are calm.");
        File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), modified);
    };
    sees(&folder, "You are kind.", edit, "You are calm.");
}

#[test]
fn atomic_replace_is_detected() {
    let folder = Folder::with(&[("SOUL.md", "You are kind.")]);
    let modified = fs::metadata(folder.path().join("SOUL.md")).unwrap().modified().unwrap();
    let replace = || {
        folder.write("SOUL.md.new", "You are calm.");
        let new = folder.path().join("SOUL.md.new");
        File::options().write(true).open(&new).unwrap().set_modified(modified).unwrap();
        fs::rename(new, folder.path().join("SOUL.md")).unwrap();
    };
    sees(&folder, "You are kind.", replace, "You are calm.");
}

#[test]
fn new_and_removed_files_are_detected() {
    let folder = Folder::new();
    let workspace = open(&folder);
    assert!(!text(&workspace).contains("## TOOLS.md"));
    folder.write("TOOLS.md", "Notes.");
    assert_eq!(workspace.refresh(), FILES);
    assert!(text(&workspace).contains("## TOOLS.md\n\nNotes."));
    fs::remove_file(folder.path().join("TOOLS.md")).unwrap();
    assert_eq!(workspace.refresh(), FILES);
    assert!(!text(&workspace).contains("## TOOLS.md"));
}

#[test]
fn new_memory_file_and_removed_skill_are_detected() {
    let folder = Folder::with(&[
        ("memory/social/a.md", "about a"),
        ("skills/oak/SKILL.md", "---\nname: oak\ndescription: about oak\n---\nSaw it.\n"),
    ]);
    let workspace = open(&folder);
    assert!(text(&workspace).contains("- oak: about oak"));
    folder.write("memory/social/b.md", "about b");
    assert_eq!(workspace.refresh(), FILES);
    assert!(text(&workspace).contains("- social/b.md ("));
    fs::remove_dir_all(folder.path().join("skills/oak")).unwrap();
    assert_eq!(workspace.refresh(), FILES);
    assert!(!text(&workspace).contains("oak"));
}

#[cfg(unix)]
#[test]
fn skill_that_links_to_another_file_has_changed() {
    let skill = "---\nname: oak\ndescription: about oak\n---\nSaw it.\n";
    let folder = Folder::with(&[("notes/oak.md", skill), ("memory/private/oak.md", skill)]);
    let link = folder.path().join("skills/oak/SKILL.md");
    fs::create_dir_all(folder.path().join("skills/oak")).unwrap();
    std::os::unix::fs::symlink("../../notes/oak.md", &link).unwrap();
    let workspace = open(&folder);
    let real_path = || workspace.snapshot().skills().items[0].real_path.clone();
    assert!(text(&workspace).contains("- oak: about oak"));
    assert_eq!(real_path().as_deref(), Some("notes/oak.md"));
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("../../memory/private/oak.md", &link).unwrap();
    assert_eq!(workspace.refresh(), FILES, "the text is the same, but the file may need another trust");
    let _built = text(&workspace);
    assert_eq!(real_path().as_deref(), Some("memory/private/oak.md"));
}

/// Seed 001's S13.7.
#[test]
fn toggled_tools_change_the_prompt_without_restart() {
    let folder = Folder::with(&[("foreword.yaml", "agent: { blueprint: vm }\n")]);
    let off = || folder.write("foreword.yaml", "agent: { blueprint: vm }\ntools: { disabled: [bash] }\n");
    sees(&folder, "- **bash**", off, "- **read_file**");
    let workspace = open(&folder);
    let before = build(&workspace);
    folder.write("foreword.yaml", "agent: { blueprint: vm }\n");
    assert_eq!(workspace.refresh(), sections(&["tools"]));
    let after = build(&workspace);
    assert!(after.prompt.text().contains("- **bash**"));
    assert_ne!(before.dependencies.tools, after.dependencies.tools, "a hard dependency");
}

#[test]
fn invalid_configuration_is_refused_and_the_old_one_kept() {
    let folder = Folder::with(&[("foreword.yaml", PEOPLE), ("SOUL.md", "You are kind.")]);
    let workspace = open(&folder);
    folder.write("foreword.yaml", "users:\n  - { name: alice, trust: ful }\n");
    folder.write("SOUL.md", "You are calm.");
    let RefreshOutcome::Refused(WorkspaceError::Config(problems)) = workspace.refresh() else {
        panic!("a bad configuration was taken")
    };
    assert_eq!(problems[0].to_string(), "foreword.yaml:2:27: unknown value `ful`");
    let now = text(&workspace);
    assert!(now.contains("Speaking with: alice, trust full"), "{now}");
    assert!(now.contains("You are calm."), "the other files are the new ones");
    assert_eq!(workspace.refresh(), RefreshOutcome::Unchanged, "told once, not every time somebody looks");
    folder.write("foreword.yaml", PEOPLE.replace("alice", "carol"));
    assert_eq!(workspace.refresh(), sections(&["users"]));
    assert!(text(&workspace).contains("Speaking with: carol"));
}

#[test]
fn invalid_configurations_are_reported_once() {
    let folder = Folder::with(&[("foreword.yaml", PEOPLE), ("SOUL.md", "You are kind.")]);
    let workspace = open(&folder);
    text(&workspace);
    let (first, second) = ("users: 7\n", "users: 8\n");
    folder.write("foreword.yaml", first);
    assert!(matches!(workspace.refresh(), RefreshOutcome::Refused(_)));
    text(&workspace);
    folder.write("SOUL.md", "You are calm.");
    assert_eq!(workspace.refresh(), FILES, "the file is new, the refusal is not");
    folder.write("foreword.yaml", first);
    assert_eq!(workspace.refresh(), RefreshOutcome::Unchanged, "written again, and still the same");
    folder.write("foreword.yaml", second);
    assert!(matches!(workspace.refresh(), RefreshOutcome::Refused(_)), "another version");
    folder.write("foreword.yaml", [0xff]);
    assert!(
        matches!(workspace.refresh(), RefreshOutcome::Refused(WorkspaceError::Access(_))),
        "no text at all"
    );
    assert_eq!(workspace.refresh(), RefreshOutcome::Unchanged);
    folder.write("foreword.yaml", PEOPLE);
    assert_eq!(workspace.refresh(), sections(&[]), "what was refused is gone");
    assert_eq!(workspace.refresh(), RefreshOutcome::Unchanged);
}

#[test]
fn deleted_configuration_keeps_the_last_valid_one() {
    let strict = format!("{PEOPLE}tools: {{ disabled: [bash] }}\n");
    let folder = Folder::with(&[("foreword.yaml", &strict), ("SOUL.md", "You are kind.")]);
    let workspace = open(&folder);
    assert_eq!(workspace.problem(), None);
    fs::remove_file(folder.path().join("foreword.yaml")).unwrap();
    assert_eq!(workspace.refresh(), RefreshOutcome::Refused(WorkspaceError::ConfigMissing));
    assert_eq!(workspace.refresh(), RefreshOutcome::Unchanged, "reported once");
    assert_eq!(workspace.problem(), Some(WorkspaceError::ConfigMissing));
    let now = text(&workspace);
    assert!(now.contains("Speaking with: alice, trust full") && !now.contains("**bash**"), "{now}");
    folder.write("foreword.yaml", &strict);
    assert_eq!(workspace.refresh(), sections(&[]), "it is back");
    assert_eq!(workspace.problem(), None);
}

#[test]
fn workspace_without_configuration_uses_the_defaults() {
    let folder = Folder::with(&[("SOUL.md", "You are kind.")]);
    let workspace = open(&folder);
    assert_eq!((workspace.refresh(), workspace.problem()), (RefreshOutcome::Unchanged, None));
    folder.write("foreword.yaml", "agent: { name: Bea }\n");
    assert_eq!(workspace.refresh(), sections(&["agent"]));
    fs::remove_file(folder.path().join("foreword.yaml")).unwrap();
    assert_eq!(workspace.refresh(), RefreshOutcome::Refused(WorkspaceError::ConfigMissing));
    assert_eq!(&*workspace.snapshot().config.agent.name, "Bea");
}

#[test]
fn missing_directory_builds_nothing() {
    let folder = Folder::with(&[("foreword.yaml", PEOPLE), ("SOUL.md", "You are kind.")]);
    let inside = folder.path().join("inside");
    fs::create_dir(&inside).unwrap();
    fs::copy(folder.path().join("foreword.yaml"), inside.join("foreword.yaml")).unwrap();
    fs::write(inside.join("SOUL.md"), "You are calm.").unwrap();
    let workspace = Workspace::open(&inside, Environment::default()).unwrap();
    let moved = folder.path().join("elsewhere");
    fs::rename(&inside, &moved).unwrap();
    let gone =
        |found: RefreshOutcome| matches!(found, RefreshOutcome::Refused(WorkspaceError::Unavailable { .. }));
    assert!(gone(workspace.refresh()));
    assert_eq!(workspace.refresh(), RefreshOutcome::Unchanged, "reported once");
    let request = request();
    assert!(matches!(workspace.build(&request), Err(WorkspaceError::Unavailable { .. })));
    assert!(matches!(workspace.build_once(&request), Err(WorkspaceError::Unavailable { .. })));
    fs::create_dir(&inside).unwrap();
    assert!(gone(workspace.refresh()), "an empty directory of the same name is another one");
    fs::remove_dir(&inside).unwrap();
    fs::rename(&moved, &inside).unwrap();
    assert_eq!(workspace.refresh(), sections(&[]), "it is back");
    assert!(workspace.build(&request).unwrap().prompt.text().contains("You are calm."));
}

#[test]
fn changed_sections_are_reported_but_not_comments() {
    let folder = Folder::with(&[("foreword.yaml", "agent: { name: Ada }\n"), ("SOUL.md", "You are kind.")]);
    let workspace = open(&folder);
    text(&workspace);
    folder.write("foreword.yaml", "# Who answers.\nagent: { name: Ada }\n");
    assert_eq!(workspace.refresh(), RefreshOutcome::Unchanged);
    folder.write("foreword.yaml", "agent: { name: Bea }\nretry: { max_retries: 7 }\n");
    assert_eq!(workspace.refresh(), sections(&["agent", "retry"]));
    assert_eq!(workspace.snapshot().config.retry.max_retries, 7);
    text(&workspace);
    folder.write("foreword.yaml", "agent: { name: Bea }\nretry: { max_retries: 8 }\n");
    folder.write("SOUL.md", "You are calm.");
    let both = RefreshOutcome::Changed { sections: vec!["retry"], files: true };
    assert_eq!(workspace.refresh(), both);
}

#[test]
fn frozen_text_is_shared_until_a_change() {
    let folder = Folder::with(&[("SOUL.md", "You are kind.")]);
    let workspace = open(&folder);
    let (first, second) = (build(&workspace), build(&workspace));
    assert!(Arc::ptr_eq(&first.prompt.frozen.text, &second.prompt.frozen.text));
    assert_eq!(workspace.refresh(), RefreshOutcome::Unchanged);
    assert!(Arc::ptr_eq(&first.prompt.frozen.text, &build(&workspace).prompt.frozen.text));
    folder.write("SOUL.md", "You are calm.");
    assert_eq!(workspace.refresh(), FILES);
    let third = build(&workspace);
    assert!(!Arc::ptr_eq(&first.prompt.frozen.text, &third.prompt.frozen.text));
    assert_ne!(first.prompt.frozen.fingerprint, third.prompt.frozen.fingerprint);
}

#[test]
fn clock_changes_and_the_frozen_text_is_shared() {
    let folder = Folder::with(&[("SOUL.md", "You are kind.")]);
    let workspace = open(&folder);
    let (first, second) = (build(&workspace), at(&workspace, "2026-03-14T12:01[UTC]"));
    assert!(first.prompt.text().contains("- Time: Saturday, 2026-03-14 12:00 (UTC)"));
    assert!(second.prompt.text().contains("- Time: Saturday, 2026-03-14 12:01 (UTC)"));
    assert!(Arc::ptr_eq(&first.prompt.frozen.text, &second.prompt.frozen.text));
}

#[test]
fn later_prompts_equal_those_of_a_fresh_workspace() {
    let folder = Folder::with(&[("SOUL.md", "You are kind."), ("memory/social/a.md", "about a")]);
    let workspace = open(&folder);
    build(&workspace);
    for later in ["2026-03-14T12:01[UTC]", "2026-03-15T08:30[UTC]", "2026-11-25T23:59[Europe/Lisbon]"] {
        let (warm, fresh) = (at(&workspace, later), at(&open(&folder), later));
        assert_eq!(warm.prompt, fresh.prompt, "{later}");
    }
}

#[test]
fn different_users_never_share_a_prompt() {
    let folder = Folder::with(&[("foreword.yaml", PEOPLE), ("users/alice/USER.md", "About alice.")]);
    let workspace = open(&folder);
    let of = |user: &str| {
        workspace
            .build(&Request {
                speaker: Speaker { user: Some(user.into()), ..request().speaker.clone() },
                ..request()
            })
            .unwrap()
    };
    let (alice, bob) = (of("alice"), of("bob"));
    assert!(alice.prompt.text().contains("About alice.") && !bob.prompt.text().contains("About alice."));
    assert!(of("alice").prompt.text().contains("About alice."));
}

#[test]
fn edited_prompt_file_or_include_is_detected() {
    let folder = Folder::with(&[
        ("foreword.yaml", "agent: { blueprint: agent, name: ChatAgent }\n"),
        (".agents/prompt/CHAT_AGENT.md", "Be {% include 'tone.md' %}."),
        (".agents/prompt/tone.md", "kind"),
    ]);
    sees(&folder, "Be kind.", || folder.write(".agents/prompt/tone.md", "calm"), "Be calm.");
    let rewrite = || folder.write(".agents/prompt/CHAT_AGENT.md", "Be yourself.");
    sees(&folder, "Be calm.", rewrite, "Be yourself.");
}

#[test]
fn optional_include_is_detected_when_it_appears() {
    let folder = Folder::with(&[
        ("foreword.yaml", "agent: { blueprint: agent, name: ChatAgent }\n"),
        (".agents/prompt/CHAT_AGENT.md", "Be kind.{% include 'extra.md' ignore missing %}"),
    ]);
    let workspace = open(&folder);
    assert_eq!(text(&workspace), "Be kind.");
    folder.write(".agents/prompt/extra.md", " And brief.");
    assert_eq!(workspace.refresh(), FILES);
    assert_eq!(text(&workspace), "Be kind. And brief.");
}

#[test]
fn missing_prompts_root_is_a_change_once_created() {
    let folder = Folder::with(&[("foreword.yaml", "agent: { blueprint: agent, name: ChatAgent }\n")]);
    let workspace = open(&folder);
    assert!(matches!(workspace.build(&request()), Err(WorkspaceError::Resolution(_))));
    assert_eq!(workspace.refresh(), RefreshOutcome::Unchanged);
    folder.write(".agents/prompt/CHAT_AGENT.md", "Be kind.");
    assert_eq!(workspace.refresh(), FILES);
    assert_eq!(text(&workspace), "Be kind.");
}

#[test]
fn small_history_growth_keeps_the_cached_prompt() {
    let folder = Folder::new();
    folder.write("SOUL.md", "Be kind.");
    folder.write("memory/private/a.md", "# One");
    let workspace = open(&folder);
    let at = |history_tokens: usize| workspace.build(&Request { history_tokens, ..request() }).unwrap();
    assert!(Arc::ptr_eq(&at(1_001), &at(1_900)), "the menu tells no more");
    let later = at(2_001);
    assert!(!Arc::ptr_eq(&at(1_001), &later));
    assert_eq!(at(1_001).prompt.frozen.fingerprint, later.prompt.frozen.fingerprint);
}

#[test]
fn users_in_one_channel_have_separate_prompts() {
    let people = "\
users:
  - { name: bob, trust: inner, match: [\"signal:bob\"] }
  - { name: carol, trust: inner, match: [\"signal:carol\"] }
";
    let folder = Folder::new();
    folder.write("foreword.yaml", people);
    folder.write("users/bob/USER.md", "Bob collects stamps.");
    folder.write("users/carol/USER.md", "Carol sails.");
    let workspace = open(&folder);
    let built = |sender: &str| {
        let channel = Some(Channel::new("signal:desk"));
        let sender = Some(Channel::new(&format!("signal:{sender}")));
        workspace
            .build(&Request {
                speaker: Speaker { channel, sender, ..request().speaker.clone() },
                ..request()
            })
            .unwrap()
    };
    for (sender, theirs, others) in [("bob", "stamps", "sails"), ("carol", "sails", "stamps")] {
        let built = built(sender);
        assert_eq!(built.occasion.user.as_deref(), Some(sender));
        assert!(built.prompt.text().contains(theirs) && !built.prompt.text().contains(others), "{sender}");
    }
}

/// One speaker per field, each different from the default in that field alone. Destructuring without `..` makes a new
/// field a compile error here until it is listed.
fn speakers_that_differ_in_one_field() -> Vec<(&'static str, Speaker)> {
    let Speaker {
        user: _,
        channel: _,
        sender: _,
        situation: _,
        agent: _,
        model: _,
        unknown_trust: _,
        audience: _,
    } = Speaker::default();
    let default = Speaker::default;
    vec![
        ("user", Speaker { user: Some("bob".into()), ..default() }),
        ("channel", Speaker { channel: Some(Channel::new("signal:bob")), ..default() }),
        ("sender", Speaker { sender: Some(Channel::new("signal:bob")), ..default() }),
        ("situation", Speaker { situation: Some("group".into()), ..default() }),
        ("agent", Speaker { agent: Some("other".into()), ..default() }),
        ("model", Speaker { model: Some("offline/echo".into()), ..default() }),
        ("unknown_trust", Speaker { unknown_trust: Some(Trust::Inner), ..default() }),
        ("audience", Speaker { audience: Some(Trust::Public), ..default() }),
    ]
}

#[test]
fn different_speakers_share_no_cached_prompt() {
    let folder = Folder::with(&[("foreword.yaml", PEOPLE)]);
    let workspace = open(&folder);
    let of = |speaker: &Speaker| Request { speaker: speaker.clone(), ..request() };
    let mut all = vec![("none", Speaker::default())];
    all.extend(speakers_that_differ_in_one_field());
    for (number, (name, speaker)) in all.iter().enumerate() {
        assert!(workspace.ready(&of(speaker)).is_none(), "`{name}` got the prompt of another speaker");
        workspace.build(&of(speaker)).unwrap();
        for (_, built) in &all[..=number] {
            assert!(workspace.ready(&of(built)).is_some(), "the prompt is not cached at all");
        }
    }
}

#[test]
fn conversations_share_a_prompt_without_their_id() {
    let folder = Folder::with(&[("SOUL.md", "Be kind.")]);
    let workspace = open(&folder);
    let of = |name: &str| Request { conversation: Some(name.into()), ..request() };
    let first = workspace.build(&of("c-1")).unwrap();
    assert!(Arc::ptr_eq(&first, &workspace.build(&of("c-2")).unwrap()));
    assert_eq!(first.occasion.conversation, None);
}

#[test]
fn conversations_with_their_id_in_the_prompt_share_none() {
    let config = "agent: { blueprint: template }\nprompt: { template_file: prompts/system.md }\n";
    let folder =
        Folder::with(&[("foreword.yaml", config), ("prompts/system.md", "In [prompt:conversation_id].")]);
    let workspace = open(&folder);
    let of = |name: &str| Request { conversation: Some(name.into()), ..request() };
    for name in ["c-1", "c-2", "c-1"] {
        let built = workspace.build(&of(name)).unwrap();
        assert_eq!(&*built.prompt.frozen.text, format!("In {name}."));
        assert!(workspace.ready(&of(name)).is_some());
    }
    assert!(workspace.ready(&of("c-3")).is_none());
}
