//! The location of prompt files, and errors when they are missing.

use std::ffi::OsStr;
use std::path::Path;

use foreword_workspace::error::{AccessReason, WorkspaceError};
use foreword_workspace::prompts_root::{InstructionSource, PromptsDir};

use crate::workspace_folder::Folder;

fn open(
    folder: &Folder,
    configured: Option<&str>,
    environment: Option<&Path>,
) -> Result<String, WorkspaceError> {
    let chosen = PromptsDir::choose(configured, environment.map(Path::as_os_str))?;
    Ok(chosen.open(&folder.path())?.read("CHAT_AGENT.md")?.text.to_string())
}

#[test]
fn prompts_root_is_relative_or_absolute() {
    let folder = Folder::with(&[
        (".agents/prompt/CHAT_AGENT.md", "default"),
        ("mine/CHAT_AGENT.md", "configured"),
        ("theirs/CHAT_AGENT.md", "environment"),
    ]);
    assert_eq!(open(&folder, None, None).unwrap(), "default");
    assert_eq!(open(&folder, Some("mine"), Some(Path::new("theirs"))).unwrap(), "configured");
    assert_eq!(open(&folder, None, Some(Path::new("theirs"))).unwrap(), "environment");
    assert_eq!(open(&folder, None, Some(&folder.path().join("theirs"))).unwrap(), "environment");
}

#[test]
fn prompts_root_in_a_reserved_directory_is_refused() {
    let folder = Folder::with(&[(".foreword/CHAT_AGENT.md", "secret")]);
    for path in [".foreword", "./.foreword/", ".git/x"] {
        match open(&folder, Some(path), None).unwrap_err() {
            WorkspaceError::Access(error) => assert!(matches!(error.reason, AccessReason::Reserved(_))),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn workspaces_below_reserved_directories_have_a_prompts_root() {
    let folder = Folder::with(&[(".foreword/demo/.agents/prompt/CHAT_AGENT.md", "fine")]);
    let workspace = folder.path().join(".foreword/demo");
    let root = PromptsDir::choose(None, None).unwrap().open(&workspace).unwrap();
    assert_eq!(&*root.read("CHAT_AGENT.md").unwrap().text, "fine");
}

#[test]
fn instruction_file_stays_below_the_prompts_root() {
    let folder = Folder::with(&[("prompts/A.md", "a"), ("SOUL.md", "not a prompt")]);
    let root = PromptsDir::choose(Some("prompts"), None).unwrap().open(&folder.path()).unwrap();
    let read = |file: &str| match InstructionSource::choose(None, Some(file), "x").unwrap() {
        InstructionSource::File(file) => root.read(&file),
        other => panic!("{other:?}"),
    };
    assert_eq!(&*read("A.md").unwrap().text, "a");
    assert!(matches!(read("../SOUL.md"), Err(WorkspaceError::Access(_))));
    assert!(matches!(read("/etc/passwd"), Err(WorkspaceError::Access(_))));
    assert!(matches!(read("B.md"), Err(WorkspaceError::Resolution(_))));
}

#[test]
fn failures_name_the_wrong_setting_and_the_fix() {
    let folder = Folder::with(&[(".agents/prompt/OTHER.md", "")]);
    let bare = PromptsDir::choose(None, None).unwrap();
    let errors = [
        PromptsDir::choose(None, Some(OsStr::new(""))).unwrap_err(),
        open(&folder, Some("nowhere"), None).unwrap_err(),
        open(&folder, None, Some(Path::new("nowhere"))).unwrap_err(),
        open(&folder, None, None).unwrap_err(),
        bare.open(&folder.path().join("bare")).unwrap_err(),
        InstructionSource::choose(None, None, "🙂").unwrap_err(),
    ];
    let words: Vec<String> = errors.iter().map(|error| folder.message(error)).collect();
    insta::assert_snapshot!(words.join("\n\n"));
}
