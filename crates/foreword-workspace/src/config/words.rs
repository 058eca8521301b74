//! The words a configuration may use for names and paths, checked where they are written.

/// Whether `name` can be a user's: it is also a folder's name, so plain characters only.
pub(super) fn is_user_name(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && name.chars().count() <= 64 && !name.starts_with('.') && name.chars().all(plain)
}

/// The file below the workspace that `path` names, in its one spelling: without `.` steps and doubled slashes. Or what
/// is wrong with it.
pub(super) fn plain_path(path: &str) -> Result<String, &'static str> {
    if path.contains('\0') {
        return Err("it holds a NUL character");
    }
    if path.starts_with('/') {
        return Err("it is absolute; paths here are below the workspace");
    }
    if path.split(['/', '\\']).any(|part| part == "..") {
        return Err("it leaves the workspace");
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let plain = parts.join("/");
    if plain.trim().is_empty() {
        Err("it is empty")
    } else if path.ends_with('/') {
        Err("it names a folder")
    } else {
        Ok(plain)
    }
}
