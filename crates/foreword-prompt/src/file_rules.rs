//! The trust required by a workspace file, by its path: memory stores by their trust, a user's folder by its owner,
//! other files by the configured rules. Checked for every file a prompt takes text from.

use crate::plan::FileRule;
use crate::trust::Trust;

/// The requirement for reading a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRequirement {
    /// At least this trust.
    Trust(Trust),
    /// Not readable at any trust: it belongs to another user, or to an unknown store.
    Never,
    /// No rule applies.
    NoRule,
}

impl FileRequirement {
    /// Whether a reader of `trust` may read it; `unruled` applies to a file without a rule.
    #[must_use]
    pub fn permits(self, trust: Trust, unruled: Trust) -> bool {
        match self {
            Self::Trust(needed) => trust.permits(needed),
            Self::Never => false,
            Self::NoRule => trust.permits(unruled),
        }
    }
}

/// The required trust of a memory store; `None` if the store is unknown.
///
/// ```
/// use foreword_prompt::file_rules::store_trust;
/// use foreword_prompt::trust::Trust;
/// assert_eq!(store_trust("shared"), Some(Trust::Inner));
/// assert_eq!(store_trust("elsewhere"), None);
/// ```
#[must_use]
pub fn store_trust(store: &str) -> Option<Trust> {
    match store {
        "private" => Some(Trust::Full),
        "shared" => Some(Trust::Inner),
        "social" => Some(Trust::Familiar),
        _ => None,
    }
}

/// The requirement of the file at `path`, relative to the workspace, for `user`.
///
/// ```
/// use foreword_prompt::file_rules::{required_trust, FileRequirement};
/// use foreword_prompt::trust::Trust;
/// assert_eq!(required_trust("memory/social/people.md", Some("carol"), &[]), FileRequirement::Trust(Trust::Familiar));
/// assert_eq!(required_trust("./users//alice/USER.md", Some("bob"), &[]), FileRequirement::Never);
/// assert_eq!(required_trust("notes.md", Some("bob"), &[]), FileRequirement::NoRule);
/// ```
#[must_use]
pub fn required_trust(path: &str, user: Option<&str>, rules: &[FileRule]) -> FileRequirement {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let rule = |per_user: bool, path: &str| {
        rules.iter().find(|rule| rule.per_user == per_user && rule.path == path).map(|rule| rule.trust)
    };
    let listed = rule(false, &parts.join("/"));
    match parts.as_slice() {
        // A rule may require more than the store, never less.
        ["memory", store, _, ..] => match store_trust(store) {
            Some(trust) => FileRequirement::Trust(trust.stricter(listed.unwrap_or(trust))),
            None => FileRequirement::Never,
        },
        ["users", owner, rest @ ..] if !rest.is_empty() => match user {
            Some(user) if user == *owner => {
                FileRequirement::Trust(rule(true, &rest.join("/")).unwrap_or(Trust::Inner))
            }
            _ => FileRequirement::Never,
        },
        _ => listed.map_or(FileRequirement::NoRule, FileRequirement::Trust),
    }
}

/// Normalises a path for comparison with rules: `/` as the separator, without `.` and empty parts.
///
/// # Errors
/// The reason why it cannot be a file below the workspace.
///
/// ```
/// use foreword_prompt::file_rules::plain_path;
/// assert_eq!(plain_path("./prompts//group.md").as_deref(), Ok("prompts/group.md"));
/// assert_eq!(plain_path("../x"), Err("it leaves the workspace"));
/// ```
pub fn plain_path(path: &str) -> Result<String, &'static str> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Vec<FileRule> {
        vec![
            FileRule { path: "AGENTS.md".into(), trust: Trust::Familiar, per_user: false },
            FileRule { path: "USER.md".into(), trust: Trust::Full, per_user: true },
            FileRule { path: "memory/private/x.md".into(), trust: Trust::Public, per_user: false },
        ]
    }

    #[test]
    fn dots_and_double_slashes_do_not_bypass_a_rule() {
        for path in ["AGENTS.md", "./AGENTS.md", ".//AGENTS.md"] {
            assert_eq!(
                required_trust(path, None, &rules()),
                FileRequirement::Trust(Trust::Familiar),
                "{path}"
            );
        }
        for path in ["./memory/private/y.md", "memory//private/y.md", "memory/./private/y.md"] {
            assert_eq!(required_trust(path, None, &rules()), FileRequirement::Trust(Trust::Full), "{path}");
        }
    }

    #[test]
    fn rule_can_raise_the_trust_of_a_store_only() {
        assert_eq!(
            required_trust("memory/private/x.md", None, &rules()),
            FileRequirement::Trust(Trust::Full)
        );
        assert_eq!(required_trust("memory/odd/x.md", None, &rules()), FileRequirement::Never);
    }

    #[test]
    fn user_folder_is_readable_by_its_owner_only() {
        assert_eq!(
            required_trust("users/alice/USER.md", Some("alice"), &rules()),
            FileRequirement::Trust(Trust::Full)
        );
        assert_eq!(
            required_trust("users/alice/notes.md", Some("alice"), &rules()),
            FileRequirement::Trust(Trust::Inner)
        );
        assert_eq!(required_trust("users/alice/USER.md", Some("bob"), &rules()), FileRequirement::Never);
        assert_eq!(required_trust("users/alice/USER.md", None, &rules()), FileRequirement::Never);
    }

    #[test]
    fn file_without_rule_needs_the_given_trust() {
        assert!(FileRequirement::NoRule.permits(Trust::Public, Trust::Public));
        assert!(!FileRequirement::NoRule.permits(Trust::Inner, Trust::Full));
        assert!(!FileRequirement::Never.permits(Trust::Full, Trust::Public));
    }
}
