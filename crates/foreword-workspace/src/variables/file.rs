//! `file:<path>`: files below the working directory, and absolute paths that the owner allows. All reads go through a
//! guarded root; the template decides whether a failure means "absent".

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::error::{AccessError, AccessReason, FileLocation, ResolutionError, RootLabel, WorkspaceError};
use crate::roots::{FileText, Root, is_reserved};

/// Absolute paths that the owner's configuration allows: files, and directories with everything below them.
#[derive(Debug, Clone, Default)]
pub struct AllowedPaths(Vec<PathBuf>);

impl AllowedPaths {
    /// Creates the allow-list.
    ///
    /// # Errors
    /// [`ResolutionError::BadAllowedPath`] when a path is not absolute, or contains `..`.
    pub fn new(paths: impl IntoIterator<Item = PathBuf>) -> Result<Self, WorkspaceError> {
        let paths: Vec<PathBuf> = paths.into_iter().collect();
        match paths.iter().find(|path| !path.is_absolute() || has_parent_step(path)) {
            Some(bad) => {
                Err(ResolutionError::BadAllowedPath { path: bad.to_string_lossy().into_owned() }.into())
            }
            None => Ok(Self(paths)),
        }
    }
}

/// Reads the file that `[file:path]` names: below `working_directory`, or absolute and allowed.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # std::fs::write(folder.path().join("AGENTS.md"), "Be brief.")?;
/// use foreword_workspace::roots::Root;
/// use foreword_workspace::variables::file::{AllowedPaths, read_variable_path};
///
/// let directory = Root::open("working directory", folder.path())?;
/// let nothing = AllowedPaths::default();
/// assert_eq!(&*read_variable_path(&directory, &nothing, "AGENTS.md")?.text, "Be brief.");
/// assert!(read_variable_path(&directory, &nothing, "/etc/passwd").is_err());
/// # Ok(()) }
/// ```
///
/// # Errors
/// As [`Root::read`]; an absolute path that is not allowed is an [`AccessError`].
pub fn read_variable_path(
    working_directory: &Root,
    allowed: &AllowedPaths,
    path: &str,
) -> Result<FileText, WorkspaceError> {
    if !path.starts_with('/') {
        return working_directory.read(path);
    }
    let refuse = |reason| {
        let root = Arc::new(RootLabel { name: "file system".to_owned(), path: PathBuf::from("/") });
        WorkspaceError::from(AccessError { place: FileLocation { file: path.to_owned(), root }, reason })
    };
    if path.contains('\0') {
        return Err(refuse(AccessReason::NulInPath));
    }
    let wanted = Path::new(path);
    if has_parent_step(wanted) {
        return Err(refuse(AccessReason::StepsOut));
    }
    if let Some(name) = wanted.components().map(Component::as_os_str).find(|name| is_reserved(name)) {
        return Err(refuse(AccessReason::Reserved(name.to_string_lossy().into_owned())));
    }
    let Some((directory, below)) = allowed.0.iter().find_map(|entry| split_at(entry, wanted)) else {
        return Err(refuse(AccessReason::Absolute));
    };
    let below = below.to_str().ok_or_else(|| refuse(AccessReason::Absolute))?;
    match Root::open("allowed", directory) {
        Err(WorkspaceError::Resolution(_)) => {
            let root = Arc::new(RootLabel { name: "allowed".to_owned(), path: directory.to_owned() });
            Err(ResolutionError::MissingFile(FileLocation { file: below.to_owned(), root }).into())
        }
        root => root?.read(below),
    }
}

/// The directory to open for `wanted`, and the path below it, if `entry` allows it.
fn split_at<'a>(entry: &'a Path, wanted: &'a Path) -> Option<(&'a Path, &'a OsStr)> {
    let below = wanted.strip_prefix(entry).ok()?;
    if below.as_os_str().is_empty() {
        Some((wanted.parent()?, wanted.file_name()?))
    } else {
        Some((entry, below.as_os_str()))
    }
}

fn has_parent_step(path: &Path) -> bool {
    path.components().any(|component| component == Component::ParentDir)
}
