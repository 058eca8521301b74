//! Validates paths below a root as text, before any file is opened: relative, with forward slashes, no `..`, and not
//! through a reserved directory.

use std::ffi::OsStr;

use crate::error::{AccessReason, FileKind};

/// Reserved directories, at any depth and in any case.
const RESERVED: [&str; 2] = [".foreword", ".git"];

/// Whether `name` is a reserved directory.
pub(crate) fn is_reserved(name: &OsStr) -> bool {
    RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved))
}

/// The components of a path below a root; none is `.`, `..` or empty.
#[derive(Debug)]
pub(super) struct RelativePath<'a>(Vec<&'a OsStr>);

impl<'a> RelativePath<'a> {
    /// The path of a file.
    pub(super) fn parse_file(path: &'a str) -> Result<Self, AccessReason> {
        let parts = Self::parse_directory(path)?;
        if parts.0.is_empty() || path.ends_with('/') {
            return Err(AccessReason::NotRegular(FileKind::Directory));
        }
        Ok(parts)
    }

    /// The path of a directory; `.` and the empty path mean the root itself.
    pub(super) fn parse_directory(path: &'a str) -> Result<Self, AccessReason> {
        if path.contains('\0') {
            return Err(AccessReason::NulInPath);
        }
        if path.starts_with('/') {
            return Err(AccessReason::Absolute);
        }
        if path.contains('\\') || has_drive(path) {
            return Err(AccessReason::ForeignPath);
        }
        let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
        if parts.clone().any(|part| part == "..") {
            return Err(AccessReason::StepsOut);
        }
        Ok(Self(parts.map(OsStr::new).collect()))
    }

    pub(super) fn parts(&self) -> &[&'a OsStr] {
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
        let expected = expected.map(|parts| parts.iter().map(OsStr::new).collect::<Vec<_>>());
        assert_eq!(parts, expected, "{path:?}");
    }

    #[test]
    fn invalid_paths_are_refused_before_opening() {
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
