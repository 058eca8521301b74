//! A workspace that lives on while its files change: what `refresh` sees, what stays in force, and what is shared.

use std::fs::{self, File};
use std::sync::Arc;

use foreword_prompt::occasion::Channel;
use foreword_workspace::build::Built;
use foreword_workspace::error::WorkspaceError;
use foreword_workspace::request::Request;
use foreword_workspace::workspace::{Environment, Refreshed, Workspace};
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

/// A change of files alone.
const FILES: Refreshed = Refreshed::Changed { sections: Vec::new(), files: true };

/// A change of the configuration alone.
fn sections(changed: &[&'static str]) -> Refreshed {
    Refreshed::Changed { sections: changed.to_vec(), files: false }
}

/// Checks that `change` is seen by a refresh, and not before.
fn sees(folder: &Folder, before: &str, change: impl Fn(), after: &str) {
    let workspace = open(folder);
    assert!(text(&workspace).contains(before));
    assert_eq!(workspace.refresh(), Refreshed::Unchanged);
    change();
    assert!(text(&workspace).contains(before), "a snapshot stays as it was first read");
    assert!(matches!(workspace.refresh(), Refreshed::Changed { .. }));
    let now = text(&workspace);
    assert!(now.contains(after) && !now.contains(before), "{now}");
    assert_eq!(workspace.refresh(), Refreshed::Unchanged);
}

#[test]
fn an_edit_is_seen() {
    let folder = Folder::with(&[("SOUL.md", "You are kind.")]);
    sees(&folder, "You are kind.", || folder.write("SOUL.md", "You are patient."), "You are patient.");
}

#[test]
fn an_edit_that_keeps_size_and_time_is_seen() {
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
fn an_atomic_replace_is_seen() {
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
fn a_file_that_appears_or_goes_is_seen() {
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
fn a_new_memory_file_and_a_removed_skill_are_seen() {
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

/// Seed 001's S13.7.
#[test]
fn tools_that_are_switched_off_or_on_change_the_prompt_without_a_restart() {
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
fn a_bad_configuration_is_refused_and_the_old_one_stays_in_force() {
    let folder = Folder::with(&[("foreword.yaml", PEOPLE), ("SOUL.md", "You are kind.")]);
    let workspace = open(&folder);
    folder.write("foreword.yaml", "users:\n  - { name: alice, trust: ful }\n");
    folder.write("SOUL.md", "You are calm.");
    let Refreshed::Refused(WorkspaceError::Config(problems)) = workspace.refresh() else {
        panic!("a bad configuration was taken")
    };
    assert_eq!(problems[0].to_string(), "foreword.yaml:2:27: unknown word `ful`");
    let now = text(&workspace);
    assert!(now.contains("Speaking with: alice, trust full"), "{now}");
    assert!(now.contains("You are calm."), "the other files are the new ones");
    assert_eq!(workspace.refresh(), Refreshed::Unchanged, "told once, not every time somebody looks");
    folder.write("foreword.yaml", PEOPLE.replace("alice", "carol"));
    assert_eq!(workspace.refresh(), sections(&["users"]));
    assert!(text(&workspace).contains("Speaking with: carol"));
}

#[test]
fn a_bad_configuration_is_told_once_whatever_else_changes() {
    let folder = Folder::with(&[("foreword.yaml", PEOPLE), ("SOUL.md", "You are kind.")]);
    let workspace = open(&folder);
    text(&workspace);
    let (first, second) = ("users: 7\n", "users: 8\n");
    folder.write("foreword.yaml", first);
    assert!(matches!(workspace.refresh(), Refreshed::Refused(_)));
    text(&workspace);
    folder.write("SOUL.md", "You are calm.");
    assert_eq!(workspace.refresh(), FILES, "the file is new, the refusal is not");
    folder.write("foreword.yaml", first);
    assert_eq!(workspace.refresh(), Refreshed::Unchanged, "written again, and still the same");
    folder.write("foreword.yaml", second);
    assert!(matches!(workspace.refresh(), Refreshed::Refused(_)), "another version");
    folder.write("foreword.yaml", [0xff]);
    assert!(matches!(workspace.refresh(), Refreshed::Refused(WorkspaceError::Access(_))), "no text at all");
    assert_eq!(workspace.refresh(), Refreshed::Unchanged);
    folder.write("foreword.yaml", PEOPLE);
    assert_eq!(workspace.refresh(), sections(&[]), "what was refused is gone");
    assert_eq!(workspace.refresh(), Refreshed::Unchanged);
}

#[test]
fn a_deleted_configuration_leaves_the_last_good_one_in_force() {
    let strict = format!("{PEOPLE}tools: {{ disabled: [bash] }}\n");
    let folder = Folder::with(&[("foreword.yaml", &strict), ("SOUL.md", "You are kind.")]);
    let workspace = open(&folder);
    assert_eq!(workspace.problem(), None);
    fs::remove_file(folder.path().join("foreword.yaml")).unwrap();
    assert_eq!(workspace.refresh(), Refreshed::Refused(WorkspaceError::ConfigMissing));
    assert_eq!(workspace.refresh(), Refreshed::Unchanged, "reported once");
    assert_eq!(workspace.problem(), Some(WorkspaceError::ConfigMissing));
    let now = text(&workspace);
    assert!(now.contains("Speaking with: alice, trust full") && !now.contains("**bash**"), "{now}");
    folder.write("foreword.yaml", &strict);
    assert_eq!(workspace.refresh(), sections(&[]), "it is back");
    assert_eq!(workspace.problem(), None);
}

#[test]
fn a_workspace_without_configuration_has_the_defaults_until_one_appears() {
    let folder = Folder::with(&[("SOUL.md", "You are kind.")]);
    let workspace = open(&folder);
    assert_eq!((workspace.refresh(), workspace.problem()), (Refreshed::Unchanged, None));
    folder.write("foreword.yaml", "agent: { name: Bea }\n");
    assert_eq!(workspace.refresh(), sections(&["agent"]));
    fs::remove_file(folder.path().join("foreword.yaml")).unwrap();
    assert_eq!(workspace.refresh(), Refreshed::Refused(WorkspaceError::ConfigMissing));
    assert_eq!(&*workspace.snapshot().config.agent.name, "Bea");
}

#[test]
fn nothing_is_built_while_the_directory_is_gone() {
    let folder = Folder::with(&[("foreword.yaml", PEOPLE), ("SOUL.md", "You are kind.")]);
    let inside = folder.path().join("inside");
    fs::create_dir(&inside).unwrap();
    fs::copy(folder.path().join("foreword.yaml"), inside.join("foreword.yaml")).unwrap();
    fs::write(inside.join("SOUL.md"), "You are calm.").unwrap();
    let workspace = Workspace::open(&inside, Environment::default()).unwrap();
    let moved = folder.path().join("elsewhere");
    fs::rename(&inside, &moved).unwrap();
    let gone = |found: Refreshed| matches!(found, Refreshed::Refused(WorkspaceError::Unavailable { .. }));
    assert!(gone(workspace.refresh()));
    assert_eq!(workspace.refresh(), Refreshed::Unchanged, "reported once");
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
fn the_sections_that_changed_are_told_and_a_comment_is_no_change() {
    let folder = Folder::with(&[("foreword.yaml", "agent: { name: Ada }\n"), ("SOUL.md", "You are kind.")]);
    let workspace = open(&folder);
    text(&workspace);
    folder.write("foreword.yaml", "# Who answers.\nagent: { name: Ada }\n");
    assert_eq!(workspace.refresh(), Refreshed::Unchanged);
    folder.write("foreword.yaml", "agent: { name: Bea }\nretry: { max_retries: 7 }\n");
    assert_eq!(workspace.refresh(), sections(&["agent", "retry"]));
    assert_eq!(workspace.snapshot().config.retry.max_retries, 7);
    text(&workspace);
    folder.write("foreword.yaml", "agent: { name: Bea }\nretry: { max_retries: 8 }\n");
    folder.write("SOUL.md", "You are calm.");
    let both = Refreshed::Changed { sections: vec!["retry"], files: true };
    assert_eq!(workspace.refresh(), both);
}

#[test]
fn frozen_text_is_shared_between_builds_and_made_again_after_a_change() {
    let folder = Folder::with(&[("SOUL.md", "You are kind.")]);
    let workspace = open(&folder);
    let (first, second) = (build(&workspace), build(&workspace));
    assert!(Arc::ptr_eq(&first.prompt.frozen.text, &second.prompt.frozen.text));
    assert_eq!(workspace.refresh(), Refreshed::Unchanged);
    assert!(Arc::ptr_eq(&first.prompt.frozen.text, &build(&workspace).prompt.frozen.text));
    folder.write("SOUL.md", "You are calm.");
    assert_eq!(workspace.refresh(), FILES);
    let third = build(&workspace);
    assert!(!Arc::ptr_eq(&first.prompt.frozen.text, &third.prompt.frozen.text));
    assert_ne!(first.prompt.frozen.fingerprint, third.prompt.frozen.fingerprint);
}

#[test]
fn a_later_minute_changes_the_clock_and_shares_the_frozen_text() {
    let folder = Folder::with(&[("SOUL.md", "You are kind.")]);
    let workspace = open(&folder);
    let (first, second) = (build(&workspace), at(&workspace, "2026-03-14T12:01[UTC]"));
    assert!(first.prompt.text().contains("- Time: Saturday, 2026-03-14 12:00 (UTC)"));
    assert!(second.prompt.text().contains("- Time: Saturday, 2026-03-14 12:01 (UTC)"));
    assert!(Arc::ptr_eq(&first.prompt.frozen.text, &second.prompt.frozen.text));
}

#[test]
fn a_prompt_at_a_later_time_is_the_one_a_fresh_workspace_would_give() {
    let folder = Folder::with(&[("SOUL.md", "You are kind."), ("memory/social/a.md", "about a")]);
    let workspace = open(&folder);
    build(&workspace);
    for later in ["2026-03-14T12:01[UTC]", "2026-03-15T08:30[UTC]", "2026-11-25T23:59[Europe/Lisbon]"] {
        let (warm, fresh) = (at(&workspace, later), at(&open(&folder), later));
        assert_eq!(warm.prompt, fresh.prompt, "{later}");
    }
}

#[test]
fn what_differs_between_two_people_is_never_shared() {
    let folder = Folder::with(&[("foreword.yaml", PEOPLE), ("users/alice/USER.md", "About alice.")]);
    let workspace = open(&folder);
    let of = |user: &str| workspace.build(&Request { user: Some(user.into()), ..request() }).unwrap();
    let (alice, bob) = (of("alice"), of("bob"));
    assert!(alice.prompt.text().contains("About alice.") && !bob.prompt.text().contains("About alice."));
    assert!(of("alice").prompt.text().contains("About alice."));
}

#[test]
fn an_edited_prompt_file_or_include_is_seen() {
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
fn an_include_that_may_be_missing_is_seen_when_it_appears() {
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
fn a_prompts_root_that_is_missing_is_looked_for_again_and_told_as_a_change_only_when_it_appears() {
    let folder = Folder::with(&[("foreword.yaml", "agent: { blueprint: agent, name: ChatAgent }\n")]);
    let workspace = open(&folder);
    assert!(matches!(workspace.build(&request()), Err(WorkspaceError::Resolution(_))));
    assert_eq!(workspace.refresh(), Refreshed::Unchanged);
    folder.write(".agents/prompt/CHAT_AGENT.md", "Be kind.");
    assert_eq!(workspace.refresh(), FILES);
    assert_eq!(text(&workspace), "Be kind.");
}

#[test]
fn a_message_more_of_history_does_not_make_the_prompt_again() {
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
fn two_who_speak_in_one_place_have_prompts_of_their_own() {
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
        workspace.build(&Request { channel, sender, ..request() }).unwrap()
    };
    for (sender, theirs, others) in [("bob", "stamps", "sails"), ("carol", "sails", "stamps")] {
        let built = built(sender);
        assert_eq!(built.occasion.user.as_deref(), Some(sender));
        assert!(built.prompt.text().contains(theirs) && !built.prompt.text().contains(others), "{sender}");
    }
}
