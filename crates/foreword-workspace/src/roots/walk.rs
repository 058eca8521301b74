//! Walks from a root's handle to a file or directory, one component at a time; the operating system follows no link.
//!
//! A component is opened with `O_NOFOLLOW` relative to its parent's handle. If it is a link, the components of its
//! target are walked instead; `..` in a link returns to the previous handle, and leaving the root is an error. So every
//! name on the way is checked, also behind links, and `.foreword` and `.git` are always refused.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use super::path::{RelativePath, is_reserved};
use crate::error::{AccessReason, FileKind};

/// The maximum number of links on a path, the same as on Linux.
const MAX_LINKS: u32 = 40;

/// Why a walk failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The file does not exist.
    Missing,
    /// The file may not be read.
    Refused(AccessReason),
}

/// Opens the file at `path`; it may be anything except a link.
pub(super) fn open_file(root: &Dir, path: &RelativePath<'_>) -> Result<File, Fault> {
    if let [name] = path.parts() {
        refuse_reserved(name)?;
        // Most files are directly below their root. The walk handles links, and finds the reason for an error.
        if let Ok(file) = root.open_with(name, &read_options()) {
            return Ok(file);
        }
    }
    open_named(root, path).map(|(file, _)| file)
}

/// Opens the file at `path`, and returns its resolved path.
pub(super) fn open_named(root: &Dir, path: &RelativePath<'_>) -> Result<(File, Vec<OsString>), Fault> {
    let mut walk = Walk::new(root, path);
    while let Some(name) = walk.pending.pop() {
        if !walk.pending.is_empty() || name == ".." {
            walk.enter(name)?;
            continue;
        }
        refuse_reserved(&name)?;
        match walk.here().open_with(&name, &read_options()) {
            Ok(file) => {
                walk.names.push(name);
                return Ok((file, walk.names));
            }
            Err(error) => walk.take_link(&name, error)?,
        }
    }
    Err(Fault::Refused(AccessReason::NotRegular(FileKind::Directory)))
}

/// Opens the directory at `path`.
pub(super) fn open_directory(root: &Dir, path: &RelativePath<'_>) -> Result<Dir, Fault> {
    let mut walk = Walk::new(root, path);
    while let Some(name) = walk.pending.pop() {
        walk.enter(name)?;
    }
    match walk.below.pop() {
        Some(directory) => Ok(directory),
        None => root.try_clone().map_err(|error| io_fault(&error)),
    }
}

struct Walk<'a> {
    root: &'a Dir,
    /// The handles of the directories entered so far, innermost last.
    below: Vec<Dir>,
    /// Their names.
    names: Vec<OsString>,
    /// The remaining components, the next one last.
    pending: Vec<OsString>,
    links: u32,
}

impl<'a> Walk<'a> {
    fn new(root: &'a Dir, path: &RelativePath<'_>) -> Self {
        Self {
            root,
            below: Vec::new(),
            names: Vec::new(),
            pending: path.parts().iter().rev().map(OsString::from).collect(),
            links: 0,
        }
    }

    fn here(&self) -> &Dir {
        self.below.last().unwrap_or(self.root)
    }

    fn enter(&mut self, name: OsString) -> Result<(), Fault> {
        if name == ".." {
            self.names.pop();
            return match self.below.pop() {
                Some(_) => Ok(()),
                None => Err(Fault::Refused(AccessReason::LeavesRoot)),
            };
        }
        refuse_reserved(&name)?;
        match self.here().open_dir_nofollow(&name) {
            Ok(directory) => {
                self.below.push(directory);
                self.names.push(name);
                Ok(())
            }
            Err(error) => self.take_link(&name, error),
        }
    }

    /// Replaces the link `name` by the components of its target. If it is not a link, `error` says why it could not be
    /// opened.
    fn take_link(&mut self, name: &OsStr, error: io::Error) -> Result<(), Fault> {
        if error.kind() == io::ErrorKind::NotFound {
            return Err(Fault::Missing);
        }
        let Ok(target) = self.here().read_link_contents(name) else {
            return Err(self.unopened(name, &error));
        };
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Fault::Refused(AccessReason::LinkLoop));
        }
        self.push_target(&target)
    }

    fn push_target(&mut self, target: &Path) -> Result<(), Fault> {
        for component in target.components().rev() {
            match component {
                Component::Normal(part) => self.pending.push(part.to_owned()),
                Component::ParentDir => self.pending.push(OsString::from("..")),
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => {
                    return Err(Fault::Refused(AccessReason::LeavesRoot));
                }
            }
        }
        Ok(())
    }

    /// A socket cannot be opened, so its kind is looked up by name. It is used for the message only.
    fn unopened(&self, name: &OsStr, error: &io::Error) -> Fault {
        match self.here().symlink_metadata(name).ok().and_then(|metadata| special_kind(&metadata)) {
            Some(kind) if kind != FileKind::Directory => Fault::Refused(AccessReason::NotRegular(kind)),
            _ => io_fault(error),
        }
    }
}

/// The kind of `metadata`, unless it is a regular file.
pub(super) fn special_kind(metadata: &Metadata) -> Option<FileKind> {
    if metadata.is_file() {
        return None;
    }
    if metadata.is_dir() {
        return Some(FileKind::Directory);
    }
    #[cfg(unix)]
    {
        use cap_std::fs::FileTypeExt as _;
        let kind = metadata.file_type();
        if kind.is_fifo() {
            return Some(FileKind::Fifo);
        }
        if kind.is_socket() {
            return Some(FileKind::Socket);
        }
        if kind.is_char_device() || kind.is_block_device() {
            return Some(FileKind::Device);
        }
    }
    Some(FileKind::Special)
}

/// Converts an I/O error to a fault.
pub(super) fn io_fault(error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Fault::Missing,
        _ => Fault::Refused(AccessReason::Unreadable(io_message(error))),
    }
}

/// An I/O error in lower case, without its number where the kind is sufficient.
pub(super) fn io_message(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

fn refuse_reserved(name: &OsStr) -> Result<(), Fault> {
    if is_reserved(name) {
        return Err(Fault::Refused(AccessReason::Reserved(name.to_string_lossy().into_owned())));
    }
    Ok(())
}

/// Without `nonblock`, opening a FIFO would block until it has a writer.
fn read_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true).follow(FollowSymlinks::No);
    options
}
