//! Writes one file below a root atomically: into a temporary file beside it, which is then renamed. Follows no links,
//! not even inside the root. Readers see either the old or the new text.

use std::ffi::OsStr;
use std::io::{self, Write as _};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, Metadata, OpenOptions, Permissions};

use super::path::{RelativePath, is_reserved};
use super::read::HardLinks;
use super::walk::{io_message, special_kind};
use super::{Root, location};
use crate::error::{AccessReason, FileKind, FileLocation};

/// A failed write. The file is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot write {place}: {reason}")]
pub struct WriteError {
    /// The file.
    pub place: FileLocation,
    /// The reason.
    pub reason: WriteReason,
}

/// Why a file cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteReason {
    /// The path may not be read, so it may not be written either.
    #[error("{0}")]
    Access(AccessReason),
    /// The file, or a directory on the path, is a link.
    #[error("it, or a folder on its path, is a symbolic link")]
    Link,
    /// A directory on the path is a file.
    #[error("part of its path is not a folder")]
    NotAFolder,
    /// The file is read-only.
    #[error("it is read-only")]
    ReadOnly,
    /// An error of the operating system.
    #[error("{0}")]
    Io(String),
}

impl WriteError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match &self.reason {
            WriteReason::Access(AccessReason::TooLarge { .. }) => "split it into several files",
            WriteReason::Access(AccessReason::Reserved(_)) => "`.foreword/` and `.git/` are never written",
            WriteReason::Access(AccessReason::NotRegular(_)) => "name a regular file, or a new one",
            WriteReason::Access(AccessReason::HardLinked(_)) => {
                "it may be a file from outside: ask the owner to replace it by a copy"
            }
            WriteReason::Access(_) => "name a path below the workspace, with `/` between its parts",
            WriteReason::Link => "name the file that the link leads to",
            WriteReason::NotAFolder => "name another path",
            WriteReason::ReadOnly => "ask the owner, who made it read-only",
            WriteReason::Io(_) => "check permissions and the disk",
        }
    }
}

/// A written file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenFile {
    /// Its new size in bytes.
    pub bytes: usize,
    /// Whether it was created.
    pub is_new: bool,
}

impl Root {
    /// Writes `text` to the file at `path`, and creates it and its directories if they do not exist. An existing file
    /// keeps its mode. `chance` names the temporary file and must be unique for each call.
    ///
    /// # Errors
    /// If the path leaves the root, passes through a link, `.foreword/` or `.git/`, is not a regular file with a single
    /// hard link, or cannot be written. Then nothing has changed, except for created directories.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// use foreword_workspace::roots::Root;
    ///
    /// let root = Root::open("workspace", folder.path())?;
    /// let written = root.write("notes/today.md", "Buy milk.\n", 7)?;
    /// assert!(written.is_new && written.bytes == 10);
    /// assert_eq!(&*root.read("notes/today.md")?.text, "Buy milk.\n");
    /// assert!(root.write("../elsewhere.md", "", 8).is_err());
    /// # Ok(()) }
    /// ```
    pub fn write(&self, path: &str, text: &str, chance: u128) -> Result<WrittenFile, WriteError> {
        self.write_below(path, text, chance)
            .map_err(|reason| WriteError { place: location(&self.label, path), reason })
    }

    fn write_below(&self, path: &str, text: &str, chance: u128) -> Result<WrittenFile, WriteReason> {
        let parts = RelativePath::parse_file(path).map_err(WriteReason::Access)?;
        if text.len() as u64 > self.limits.bytes {
            let (size, limit) = (Some(text.len() as u64), self.limits.bytes);
            return Err(WriteReason::Access(AccessReason::TooLarge { size, limit }));
        }
        if let Some(reserved) = parts.parts().iter().find(|part| is_reserved(part)) {
            let name = reserved.to_string_lossy().into_owned();
            return Err(WriteReason::Access(AccessReason::Reserved(name)));
        }
        let Some((name, folders)) = parts.parts().split_last() else {
            return Err(WriteReason::Access(AccessReason::NotRegular(FileKind::Directory)));
        };
        let mut folder = self.directory.try_clone().map_err(|error| io_reason(&error))?;
        for part in folders {
            folder = enter_or_make(&folder, part)?;
        }
        let mode = self.replaceable(&folder, name)?;
        let is_new = mode.is_none();
        // Hidden, so that listings skip it, and short, so that it does not limit the length of the name.
        let temporary = format!(".{chance:032x}.tmp");
        let done = fill(&folder, &temporary, text, mode)
            .and_then(|()| folder.rename(&temporary, &folder, name))
            .map_err(|error| io_reason(&error));
        if done.is_err() {
            // It may not exist; the original error is reported.
            let _gone_or_never_there = folder.remove_file(&temporary);
        }
        done.map(|()| {
            sync_folder(&folder);
            WrittenFile { bytes: text.len(), is_new }
        })
    }

    /// The mode of the file to replace; `None` if it does not exist.
    fn replaceable(&self, folder: &Dir, name: &OsStr) -> Result<Option<Permissions>, WriteReason> {
        let metadata: Metadata = match folder.symlink_metadata(name) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_reason(&error)),
        };
        if metadata.is_symlink() {
            return Err(WriteReason::Link);
        }
        if let Some(kind) = special_kind(&metadata) {
            return Err(WriteReason::Access(AccessReason::NotRegular(kind)));
        }
        let links = cap_fs_ext::MetadataExt::nlink(&metadata);
        if links > 1 && self.limits.hard_links == HardLinks::Refuse {
            return Err(WriteReason::Access(AccessReason::HardLinked(links)));
        }
        if metadata.permissions().readonly() {
            return Err(WriteReason::ReadOnly);
        }
        Ok(Some(metadata.permissions()))
    }
}

fn enter_or_make(folder: &Dir, name: &OsStr) -> Result<Dir, WriteReason> {
    match folder.open_dir_nofollow(name) {
        Ok(inner) => return Ok(inner),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => {
            // Used for the message only.
            return Err(match folder.symlink_metadata(name) {
                Ok(metadata) if metadata.is_symlink() => WriteReason::Link,
                Ok(metadata) if !metadata.is_dir() => WriteReason::NotAFolder,
                _ => io_reason(&error),
            });
        }
    }
    match folder.create_dir(name) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(io_reason(&error)),
        // Another process may have created it meanwhile; any directory is fine.
        _ => {}
    }
    folder.open_dir_nofollow(name).map_err(|error| io_reason(&error))
}

fn fill(folder: &Dir, name: &str, text: &str, mode: Option<Permissions>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).follow(FollowSymlinks::No);
    let mut file = folder.open_with(name, &options)?;
    if let Some(mode) = mode {
        // Before the first byte is written, so that a private file is never readable by others.
        file.set_permissions(mode)?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Makes the rename durable where the system supports it. The text is complete in any case.
fn sync_folder(folder: &Dir) {
    // The handle used for walking cannot be synced; one opened for reading can.
    let _best_effort = folder.open(".").and_then(|handle| handle.sync_all());
}

fn io_reason(error: &io::Error) -> WriteReason {
    WriteReason::Io(io_message(error))
}
