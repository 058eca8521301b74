//! The words a configuration may use for names and paths, checked where they are written.

/// Whether `name` can be a user's: it is also a folder's name, so plain characters only.
pub(super) fn is_user_name(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && name.chars().count() <= 64 && !name.starts_with('.') && name.chars().all(plain)
}

/// What is wrong with a path below the workspace, if anything is.
pub(super) fn path_problem(path: &str) -> Option<&'static str> {
    if path.trim().is_empty() {
        Some("it is empty")
    } else if path.contains('\0') {
        Some("it holds a NUL character")
    } else if path.starts_with('/') {
        Some("it is absolute; paths here are below the workspace")
    } else if path.split(['/', '\\']).any(|part| part == "..") {
        Some("it leaves the workspace")
    } else {
        None
    }
}

/// The path as files are named: without a leading `./`.
pub(super) fn plain_path(path: &str) -> String {
    let mut path = path;
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    path.to_owned()
}
