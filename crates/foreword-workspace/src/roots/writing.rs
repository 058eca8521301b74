//! Writes one file below a root, whole or not at all: into a new file beside it, which then takes its name. No link is
//! followed on the way, not even one that stays inside, so what is written is what was named. A reader sees the old
//! text or the new one.

use std::ffi::OsStr;
use std::io::{self, Write as _};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, Metadata, OpenOptions, Permissions};

use super::path::{RelativePath, is_reserved};
use super::reading::HardLinks;
use super::walk::{io_words, special_kind};
use super::{Root, place};
use crate::error::{AccessReason, FileKind, FilePlace};

/// A file that was not written. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot write {place}: {reason}")]
pub struct WriteError {
    /// Which file.
    pub place: FilePlace,
    /// Why not.
    pub reason: WriteReason,
}

/// Why a file is not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteReason {
    /// What is not read is not written either.
    #[error("{0}")]
    Access(AccessReason),
    /// It, or a folder on the way, is a link.
    #[error("a link stands in its place or on the way to it")]
    Link,
    /// A folder on the way is a file.
    #[error("something on the way to it is no folder")]
    NotAFolder,
    /// Somebody took the right to write it away.
    #[error("it is read-only")]
    ReadOnly,
    /// The operating system says no.
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
                "it may be a file from outside: ask the owner to make it a copy of its own"
            }
            WriteReason::Access(_) => "name a path below the workspace, with `/` between its parts",
            WriteReason::Link => "name the file that the link leads to",
            WriteReason::NotAFolder => "name another path",
            WriteReason::ReadOnly => "ask the owner, who made it read-only",
            WriteReason::Io(_) => "check permissions and the disk",
        }
    }
}

/// A file that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// How many bytes it has now.
    pub bytes: usize,
    /// Whether there was none before.
    pub is_new: bool,
}

impl Root {
    /// Gives the file at `path` the text `text`, and makes it and its folders if they are not there. A file that was
    /// there keeps its mode. `chance` names the file that is written first, and must be fresh for each call.
    ///
    /// # Errors
    /// If the path leaves the root, leads through a link, into `.foreword/` or `.git/`, to anything but a regular file
    /// with one name, or can't be written. Then nothing has changed, but for folders on the way.
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
    pub fn write(&self, path: &str, text: &str, chance: u128) -> Result<Written, WriteError> {
        self.write_below(path, text, chance)
            .map_err(|reason| WriteError { place: place(&self.label, path), reason })
    }

    fn write_below(&self, path: &str, text: &str, chance: u128) -> Result<Written, WriteReason> {
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
        // Hidden, so that no listing shows it, and short, so that any name that is possible stays possible.
        let temporary = format!(".{chance:032x}.tmp");
        let done = fill(&folder, &temporary, text, mode)
            .and_then(|()| folder.rename(&temporary, &folder, name))
            .map_err(|error| io_reason(&error));
        if done.is_err() {
            // It may never have been made; what matters is the error that is told.
            let _gone_or_never_there = folder.remove_file(&temporary);
        }
        done.map(|()| {
            sync_folder(&folder);
            Written { bytes: text.len(), is_new }
        })
    }

    /// The mode of the file that is to be replaced; `None` if there is none.
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
            // Asked only to word the message: nothing is opened by this answer.
            return Err(match folder.symlink_metadata(name) {
                Ok(metadata) if metadata.is_symlink() => WriteReason::Link,
                Ok(metadata) if !metadata.is_dir() => WriteReason::NotAFolder,
                _ => io_reason(&error),
            });
        }
    }
    match folder.create_dir(name) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(io_reason(&error)),
        // Somebody else may have made it meanwhile: as long as it is a folder, it is the same to us.
        _ => {}
    }
    folder.open_dir_nofollow(name).map_err(|error| io_reason(&error))
}

fn fill(folder: &Dir, name: &str, text: &str, mode: Option<Permissions>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).follow(FollowSymlinks::No);
    let mut file = folder.open_with(name, &options)?;
    if let Some(mode) = mode {
        // Before the first byte: a file that only its owner may read is never there for others.
        file.set_permissions(mode)?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// After a crash the new name is there as well, where the system can promise that; the text is whole in any case.
fn sync_folder(folder: &Dir) {
    // The handle a folder is walked by can't be synced; one that it is read by can.
    let _best_effort = folder.open(".").and_then(|handle| handle.sync_all());
}

fn io_reason(error: &io::Error) -> WriteReason {
    WriteReason::Io(io_words(error))
}
