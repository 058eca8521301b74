//! Finds files with a documented name or location that nothing reads under this configuration. Runs after all prompts
//! were built, when the files they read are known.

use std::fs;
use std::path::Path;

use foreword_core::memory_store::MemoryStore;
use foreword_prompt::layer::Source;

use super::Findings;
use crate::config::{conventional_files, is_default_file};
use crate::one_line::one_line;
use crate::snapshot::Snapshot;
use crate::workspace::Workspace;

/// The files of the blueprint `vm`.
const VM_FILES: [&str; 2] = ["system-prompt.md", "instructions.md"];
const CODE: &str = "unread_file";

/// Finds files that nothing reads.
pub(super) fn check(workspace: &Workspace, found: &mut Findings) {
    let snapshot = workspace.snapshot();
    root_files(&snapshot, workspace.directory(), found);
    memory_files(workspace.directory(), found);
    user_files(&snapshot, workspace.directory(), found);
}

fn root_files(snapshot: &std::sync::Arc<Snapshot>, directory: &Path, found: &mut Findings) {
    // A template may read any file, possibly only for some requests.
    let reads_anything = |source: &Source| matches!(source, Source::Template { .. } | Source::Instructions);
    let all = || snapshot.of_all_agents().flat_map(|view| &view.config.blueprint.layers);
    if all().any(|layer| reads_anything(&layer.source)) {
        return;
    }
    for name in conventional_files().chain(VM_FILES) {
        if !directory.join(name).is_file() || snapshot.was_read(name) {
            continue;
        }
        let per_user = snapshot.config.prompt.files.iter().any(|rule| rule.per_user && rule.path == name);
        let help = if per_user {
            format!("it belongs to one user each: move it to `users/<name>/{name}`")
        } else if is_default_file(name) {
            format!("list `{name}` under `prompt.files`, or remove it")
        } else {
            format!("remove `{name}`, or use a blueprint that reads it")
        };
        found.remark(CODE, format!("nothing reads `{name}`"), Some(help));
    }
}

/// Files in `memory/` outside the stores.
fn memory_files(directory: &Path, found: &mut Findings) {
    let stores = MemoryStore::ALL.map(MemoryStore::as_str);
    for name in names_in(&directory.join("memory")) {
        let path = directory.join("memory").join(&name);
        let is_note =
            path.is_file() && Path::new(&name).extension().is_some_and(|extension| extension == "md");
        let is_folder = path.is_dir() && !name.starts_with('.') && !stores.contains(&name.as_str());
        if is_note || is_folder {
            let end = if is_folder { "/" } else { "" };
            let message = format!("nothing reads `memory/{}{end}`", one_line(&name));
            let help = "put notes into `memory/private/`, `memory/shared/` or `memory/social/`, depending on who may see them";
            found.remark(CODE, message, Some(help.to_owned()));
        }
    }
}

/// Folders of unknown users.
fn user_files(snapshot: &Snapshot, directory: &Path, found: &mut Findings) {
    for name in names_in(&directory.join("users")) {
        let is_folder = directory.join("users").join(&name).is_dir() && !name.starts_with('.');
        if is_folder && snapshot.config.user(&name).is_none() {
            let message = format!("nothing reads `users/{}/`: there is no such user", one_line(&name));
            found.remark(CODE, message, Some("add the user to `users`, or rename the folder".to_owned()));
        }
    }
}

/// The sorted names in a folder; empty if the folder does not exist.
fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    names
}
