//! The words a configuration may use for names and paths, checked where they are written.

/// Whether `name` can be a user's: it is also a folder's name, so plain characters only.
pub(super) fn is_user_name(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && name.chars().count() <= 64 && !name.starts_with('.') && name.chars().all(plain)
}
