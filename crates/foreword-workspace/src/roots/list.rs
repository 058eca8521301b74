//! Lists a directory below a root in byte order, so that the order is stable. Hidden entries, names that are not UTF-8,
//! and everything except files and directories are skipped. Opens files only to learn what a link leads to.

use std::io;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, FileType};

use super::Root;
use super::path::{RelativePath, is_reserved};
use super::walk::{Fault, io_fault, open_file, special_kind};
use crate::error::{AccessReason, FileKind, WorkspaceError};

/// Directories nested deeper than this are skipped.
const MAX_DEPTH: usize = 32;

/// The files of a directory tree.
#[derive(Debug, Default)]
pub struct Tree {
    /// Their paths below the directory, in byte order.
    pub paths: Vec<String>,
    /// Directories that could not be listed.
    pub problems: Vec<WorkspaceError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    File,
    Folder,
}

impl Root {
    /// The names of the files in `directory` that end in `.extension`; empty if the directory does not exist.
    ///
    /// Links count as their targets. A link that leaves the root is listed, so that reading it reports the error.
    ///
    /// # Errors
    /// An [`crate::error::AccessError`] when the directory is not below the root or cannot be listed.
    pub fn list(&self, directory: &str, extension: &str) -> Result<Vec<String>, WorkspaceError> {
        let mut names = self.names(directory, EntryKind::File)?;
        names.retain(|name| has_extension(name, extension));
        Ok(names)
    }

    /// The names of the directories in `directory`; empty if it does not exist.
    ///
    /// # Errors
    /// As [`Root::list`].
    pub fn list_dirs(&self, directory: &str) -> Result<Vec<String>, WorkspaceError> {
        self.names(directory, EntryKind::Folder)
    }

    /// All files that end in `.extension` in `directory` and below it; empty if the directory does not exist. Links to
    /// directories are not followed, so that the walk ends.
    ///
    /// # Errors
    /// As [`Root::list`]; a nested directory that cannot be listed is one of the tree's problems.
    pub fn list_tree(&self, directory: &str, extension: &str) -> Result<Tree, WorkspaceError> {
        let Some(start) = self.existing_directory(directory)? else { return Ok(Tree::default()) };
        let mut tree = Tree::default();
        let mut folders = vec![(String::new(), start, 0)];
        while let Some((prefix, folder, depth)) = folders.pop() {
            let entries = match raw_entries(&folder) {
                Ok(entries) => entries,
                Err(error) => {
                    tree.problems.push(self.error(&join(directory, &prefix), io_fault(&error)));
                    continue;
                }
            };
            for (name, kind) in entries {
                let path = format!("{prefix}{name}");
                if kind.is_dir() && depth < MAX_DEPTH {
                    match folder.open_dir_nofollow(&name) {
                        Ok(inner) => folders.push((format!("{path}/"), inner, depth + 1)),
                        // Removed after it was listed.
                        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                        Err(error) => {
                            tree.problems.push(self.error(&join(directory, &path), io_fault(&error)));
                        }
                    }
                } else if has_extension(&name, extension)
                    && (kind.is_file()
                        || self.kind_of(&join(directory, &path), kind) == Some(EntryKind::File))
                {
                    tree.paths.push(path);
                }
            }
        }
        tree.paths.sort_unstable();
        Ok(tree)
    }

    fn names(&self, directory: &str, wanted: EntryKind) -> Result<Vec<String>, WorkspaceError> {
        let Some(folder) = self.existing_directory(directory)? else { return Ok(Vec::new()) };
        let entries = raw_entries(&folder).map_err(|error| self.error(directory, io_fault(&error)))?;
        let mut names: Vec<String> = entries
            .into_iter()
            .filter(|(name, kind)| self.kind_of(&join(directory, name), *kind) == Some(wanted))
            .map(|(name, _)| name)
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    fn existing_directory(&self, directory: &str) -> Result<Option<Dir>, WorkspaceError> {
        match self.directory_at(directory) {
            Ok(folder) => Ok(Some(folder)),
            Err(error) if error.is_missing_file() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A link is resolved from the root, since it may lead to another directory.
    fn kind_of(&self, path: &str, listed: FileType) -> Option<EntryKind> {
        if listed.is_file() {
            return Some(EntryKind::File);
        }
        if listed.is_dir() {
            return Some(EntryKind::Folder);
        }
        let parts = RelativePath::parse_file(path).map_err(Fault::Refused);
        match parts.and_then(|parts| open_file(&self.directory, &parts)) {
            Ok(file) => match special_kind(&file.metadata().ok()?) {
                None => Some(EntryKind::File),
                Some(FileKind::Directory) => Some(EntryKind::Folder),
                Some(_) => None,
            },
            Err(Fault::Refused(AccessReason::LeavesRoot)) => Some(EntryKind::File),
            // A link to `.` resolves to a directory that is already open.
            Err(Fault::Refused(AccessReason::NotRegular(FileKind::Directory))) => Some(EntryKind::Folder),
            Err(_) => None,
        }
    }
}

fn raw_entries(folder: &Dir) -> io::Result<Vec<(String, FileType)>> {
    let mut entries = Vec::new();
    for entry in folder.entries()? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if !name.starts_with('.') && !is_reserved(name.as_ref()) {
            entries.push((name, entry.file_type()?));
        }
    }
    Ok(entries)
}

fn has_extension(name: &str, extension: &str) -> bool {
    name.strip_suffix(extension).and_then(|stem| stem.strip_suffix('.')).is_some_and(|stem| !stem.is_empty())
}

fn join(directory: &str, path: &str) -> String {
    match directory.trim_end_matches('/') {
        "" | "." => path.to_owned(),
        directory => format!("{directory}/{path}"),
    }
}
