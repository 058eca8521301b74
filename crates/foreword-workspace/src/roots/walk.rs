//! The walk from a root's handle to a file or directory, one part at a time, no link followed by the system.
//!
//! A part is opened with `O_NOFOLLOW` on the handle of its parent. If it is a link, its text is read and its parts
//! are walked in its place; `..` in a link goes back to the handle we came from, and out of the root it is an error.
//! So every name that is passed through is seen here, also those hidden behind links, and `.foreword` and `.git` are
//! refused wherever a link comes from.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use super::path::{RelativePath, is_reserved};
use crate::error::{AccessReason, FileKind};

/// As many links as Linux itself follows on one path.
const MOST_LINKS: u32 = 40;

/// Why a walk ended without a file.
#[derive(Debug)]
pub(super) enum Fault {
    /// Nothing is there.
    Missing,
    /// Something is there that is not to be read.
    Refused(AccessReason),
}

/// Opens the file at `path`; it may still be anything but a link.
pub(super) fn open_file(root: &Dir, path: &RelativePath) -> Result<File, Fault> {
    open_named(root, path).map(|(file, _)| file)
}

/// Opens the file at `path`, and says by which names, links resolved, it was reached.
pub(super) fn open_named(root: &Dir, path: &RelativePath) -> Result<(File, Vec<OsString>), Fault> {
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
pub(super) fn open_directory(root: &Dir, path: &RelativePath) -> Result<Dir, Fault> {
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
    /// The directories entered so far, innermost last.
    below: Vec<Dir>,
    /// Their names.
    names: Vec<OsString>,
    /// The parts still to walk, next one last.
    pending: Vec<OsString>,
    links: u32,
}

impl<'a> Walk<'a> {
    fn new(root: &'a Dir, path: &RelativePath) -> Self {
        Self {
            root,
            below: Vec::new(),
            names: Vec::new(),
            pending: path.parts().iter().rev().cloned().collect(),
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

    /// Puts the parts of the link `name` in its place; if it is no link, `error` is why it could not be opened.
    fn take_link(&mut self, name: &OsStr, error: io::Error) -> Result<(), Fault> {
        if error.kind() == io::ErrorKind::NotFound {
            return Err(Fault::Missing);
        }
        let Ok(target) = self.here().read_link_contents(name) else {
            return Err(self.unopened(name, &error));
        };
        self.links += 1;
        if self.links > MOST_LINKS {
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

    /// A socket can't even be opened, so its kind must be asked for by name; the answer only words the message.
    fn unopened(&self, name: &OsStr, error: &io::Error) -> Fault {
        match self.here().symlink_metadata(name).ok().and_then(|metadata| special_kind(&metadata)) {
            Some(kind) if kind != FileKind::Directory => Fault::Refused(AccessReason::NotRegular(kind)),
            _ => io_fault(error),
        }
    }
}

/// What `metadata` is of, unless it is a regular file.
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

/// What an error of the operating system means for a walk.
pub(super) fn io_fault(error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Fault::Missing,
        _ => Fault::Refused(AccessReason::Unreadable(io_words(error))),
    }
}

/// An error of the operating system, in lower case and without its number where the kind says it all.
pub(super) fn io_words(error: &io::Error) -> String {
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

/// Without `nonblock`, opening a FIFO would wait for somebody to write to it.
fn read_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true).follow(FollowSymlinks::No);
    options
}
