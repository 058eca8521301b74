//! Paths below a root, checked as text before anything is opened: relative, forward slashes, no step upwards, and
//! never through a directory that belongs to Foreword or git. Does not look at the disk.

use std::ffi::{OsStr, OsString};

use crate::error::{AccessReason, FileKind};

/// Directories that are never part of a prompt, in any folder and in any spelling a case-blind disk would accept.
const RESERVED: [&str; 2] = [".foreword", ".git"];

/// Whether `name` is a directory that is never read.
pub(crate) fn is_reserved(name: &OsStr) -> bool {
    RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved))
}

/// The parts of a path below a root; none of them is `.`, `..` or empty.
#[derive(Debug)]
pub(super) struct RelativePath(Vec<OsString>);

impl RelativePath {
    /// The path of a file.
    pub(super) fn parse_file(path: &str) -> Result<Self, AccessReason> {
        let parts = Self::parse_directory(path)?;
        if parts.0.is_empty() || path.ends_with('/') {
            return Err(AccessReason::NotRegular(FileKind::Directory));
        }
        Ok(parts)
    }

    /// The path of a directory; `.` and the empty path are the root itself.
    pub(super) fn parse_directory(path: &str) -> Result<Self, AccessReason> {
        if path.contains('\0') {
            return Err(AccessReason::NulInPath);
        }
        if path.starts_with('/') {
            return Err(AccessReason::Absolute);
        }
        if path.contains('\\') || has_drive(path) {
            return Err(AccessReason::ForeignPath);
        }
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.contains(&"..") {
            return Err(AccessReason::StepsOut);
        }
        Ok(Self(parts.into_iter().map(OsString::from).collect()))
    }

    pub(super) fn parts(&self) -> &[OsString] {
        &self.0
    }
}

fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: Result<&[&str], AccessReason>) {
        let parts = RelativePath::parse_file(path).map(|parts| parts.0);
        let expected = expected.map(|parts| parts.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(parts, expected, "{path:?}");
    }

    #[test]
    fn paths_are_refused_as_text_before_anything_is_opened() {
        check("prompts/./group.md", Ok(&["prompts", "group.md"]));
        check("..md", Ok(&["..md"]));
        check("a/..b/c", Ok(&["a", "..b", "c"]));
        check("/etc/passwd", Err(AccessReason::Absolute));
        check("../secret", Err(AccessReason::StepsOut));
        check("a/../b", Err(AccessReason::StepsOut));
        check("a\\b.md", Err(AccessReason::ForeignPath));
        check("C:/windows/win.ini", Err(AccessReason::ForeignPath));
        check("c:win.ini", Err(AccessReason::ForeignPath));
        check("\\\\server\\share", Err(AccessReason::ForeignPath));
        check("a\0b", Err(AccessReason::NulInPath));
        check("", Err(AccessReason::NotRegular(FileKind::Directory)));
        check("a/", Err(AccessReason::NotRegular(FileKind::Directory)));
    }
}
