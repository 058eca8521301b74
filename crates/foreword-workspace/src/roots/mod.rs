//! Path traversal protection: named directories (guarded roots) that confine all file access.
//!
//! A [`Root`] holds a directory handle. Paths are walked one component at a time from that handle, and each component
//! is opened without following links; a link's target is walked in the same way. So there is no race between a check
//! and an open, and no path is canonicalised. A file is opened once; its kind, its size and its bytes all come from
//! that handle.
//!
//! Writes only through [`Root::write`], lists only what it would read, and never enters `.foreword/` or `.git/`.

mod checked_read;
mod decode;
mod list;
mod path;
mod read;
mod signature;
mod walk;
mod write;

use std::path::Path;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

pub use self::checked_read::CheckedRead;
pub use self::list::Tree;
pub use self::read::{FileText, HardLinks, ReadLimits};
pub use self::signature::Signature;
pub use self::write::{WriteError, WriteReason, WrittenFile};

pub(crate) use self::path::is_reserved;

use self::path::RelativePath;
use self::walk::Fault;
use crate::error::{AccessError, AccessReason, FileLocation, ResolutionError, RootLabel, WorkspaceError};

/// A directory that confines all access to the files below it.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # std::fs::write(folder.path().join("SOUL.md"), "\u{feff}Be kind.\r\n")?;
/// use foreword_workspace::error::WorkspaceError;
/// use foreword_workspace::roots::Root;
///
/// let root = Root::open("workspace", folder.path())?;
/// assert_eq!(&*root.read("SOUL.md")?.text, "Be kind.\n");
/// assert!(matches!(root.read("../SOUL.md"), Err(WorkspaceError::Access(_))));
/// assert!(matches!(root.read("HEART.md"), Err(WorkspaceError::Resolution(_))));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Root {
    label: Arc<RootLabel>,
    directory: Dir,
    id: RootId,
    limits: ReadLimits,
}

/// The identity of a root's directory, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RootId {
    device: u64,
    inode: u64,
}

impl Root {
    /// Opens the directory `path`, called `name` in messages.
    ///
    /// # Errors
    /// [`ResolutionError::MissingRoot`] when the directory does not exist, an [`AccessError`] when it cannot be opened.
    pub fn open(name: &str, path: &Path) -> Result<Self, WorkspaceError> {
        Self::open_for(name, path, &format!("the {name} path"))
    }

    /// As [`Root::open`], for a directory that the setting `origin` names; messages mention it.
    ///
    /// # Errors
    /// As [`Root::open`].
    pub fn open_for(name: &str, path: &Path, origin: &str) -> Result<Self, WorkspaceError> {
        let label = Arc::new(RootLabel { name: name.to_owned(), path: path.to_owned() });
        match Dir::open_ambient_dir(path, ambient_authority()) {
            Ok(directory) => Self::from_directory(label, directory, ReadLimits::default()),
            Err(error) => match walk::io_fault(&error) {
                Fault::Missing => {
                    Err(ResolutionError::MissingRoot { root: label, origin: origin.to_owned() }.into())
                }
                Fault::Refused(reason) => Err(access(&label, ".", reason)),
            },
        }
    }

    /// The same root with other limits.
    #[must_use]
    pub fn with_limits(self, limits: ReadLimits) -> Self {
        Self { limits, ..self }
    }

    /// Opens the directory `path` below this root as a root of its own.
    ///
    /// # Errors
    /// [`ResolutionError::MissingFile`] when the directory does not exist, an [`AccessError`] when it is not below this
    /// root.
    pub fn subroot(&self, path: &str) -> Result<Self, WorkspaceError> {
        let directory = self.directory_at(path)?;
        let label = RootLabel { name: self.label.name.clone(), path: self.label.path.join(path) };
        Self::from_directory(Arc::new(label), directory, self.limits)
    }

    /// Its name and path, for messages.
    #[must_use]
    pub fn label(&self) -> &RootLabel {
        &self.label
    }

    /// Checks that the directory is still at the path it was opened at; the error says what happened.
    pub(crate) fn check_in_place(&self) -> Result<(), String> {
        let metadata = Dir::open_ambient_dir(&self.label.path, ambient_authority())
            .and_then(|directory| directory.dir_metadata())
            .map_err(|error| match walk::io_fault(&error) {
                Fault::Missing => "does not exist any more".to_owned(),
                Fault::Refused(reason) => format!("can't be opened any more: {reason}"),
            })?;
        let (device, inode) = signature::identity(&metadata);
        if (RootId { device, inode }) == self.id {
            return Ok(());
        }
        Err("was replaced by another while it was open".to_owned())
    }

    pub(crate) fn id(&self) -> RootId {
        self.id
    }

    fn from_directory(
        label: Arc<RootLabel>,
        directory: Dir,
        limits: ReadLimits,
    ) -> Result<Self, WorkspaceError> {
        match directory.dir_metadata() {
            Ok(metadata) => {
                let (device, inode) = signature::identity(&metadata);
                Ok(Self { label, directory, id: RootId { device, inode }, limits })
            }
            Err(error) => Err(access(&label, ".", AccessReason::Unreadable(walk::io_message(&error)))),
        }
    }

    fn directory_at(&self, path: &str) -> Result<Dir, WorkspaceError> {
        RelativePath::parse_directory(path)
            .map_err(Fault::Refused)
            .and_then(|parts| walk::open_directory(&self.directory, &parts))
            .map_err(|fault| self.error(path, fault))
    }

    fn error(&self, path: &str, fault: Fault) -> WorkspaceError {
        match fault {
            Fault::Missing => ResolutionError::MissingFile(location(&self.label, path)).into(),
            Fault::Refused(reason) => access(&self.label, path, reason),
        }
    }
}

fn access(label: &Arc<RootLabel>, path: &str, reason: AccessReason) -> WorkspaceError {
    AccessError { place: location(label, path), reason }.into()
}

fn location(label: &Arc<RootLabel>, path: &str) -> FileLocation {
    FileLocation { file: path.to_owned(), root: Arc::clone(label) }
}
