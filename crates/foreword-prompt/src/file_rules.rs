//! What a file of the workspace needs, by its path: memory stores by their trust, a user's folder by its owner, other
//! files by the owner's rules. Asked for every file that a prompt takes text from, in whichever way it is named.

use crate::plan::FileRule;
use crate::trust::Trust;

/// What reading a file needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needed {
    /// This trust.
    Trust(Trust),
    /// Nobody of any trust may read it here: it belongs to somebody else, or to no store there is.
    Nobody,
    /// No rule is about it.
    Unruled,
}

impl Needed {
    /// Whether somebody of `trust` may read it, where a file no rule is about needs `unruled`.
    #[must_use]
    pub fn permits(self, trust: Trust, unruled: Trust) -> bool {
        match self {
            Self::Trust(needed) => trust.permits(needed),
            Self::Nobody => false,
            Self::Unruled => trust.permits(unruled),
        }
    }
}

/// The trust a memory store needs; `None` if there is no such store.
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

/// What the file at `path`, relative to the workspace, needs when `user` asks for it.
///
/// ```
/// use foreword_prompt::file_rules::{needed, Needed};
/// use foreword_prompt::trust::Trust;
/// assert_eq!(needed("memory/social/people.md", Some("carol"), &[]), Needed::Trust(Trust::Familiar));
/// assert_eq!(needed("./users//alice/USER.md", Some("bob"), &[]), Needed::Nobody);
/// assert_eq!(needed("notes.md", Some("bob"), &[]), Needed::Unruled);
/// ```
#[must_use]
pub fn needed(path: &str, user: Option<&str>, rules: &[FileRule]) -> Needed {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let rule = |per_user: bool, path: &str| {
        rules.iter().find(|rule| rule.per_user == per_user && rule.path == path).map(|rule| rule.trust)
    };
    let listed = rule(false, &parts.join("/"));
    match parts.as_slice() {
        // A rule may ask for more than a store does, never for less.
        ["memory", store, _, ..] => match store_trust(store) {
            Some(trust) => Needed::Trust(trust.stricter(listed.unwrap_or(trust))),
            None => Needed::Nobody,
        },
        ["users", owner, rest @ ..] if !rest.is_empty() => match user {
            Some(user) if user == *owner => {
                Needed::Trust(rule(true, &rest.join("/")).unwrap_or(Trust::Inner))
            }
            _ => Needed::Nobody,
        },
        _ => listed.map_or(Needed::Unruled, Needed::Trust),
    }
}

/// A written path in the form that rules compare: `/` between its parts, without `.` and empty ones.
///
/// # Errors
/// What is wrong with it, if it can't be a file below the workspace.
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
    fn dots_and_double_slashes_do_not_get_around_a_rule() {
        for path in ["AGENTS.md", "./AGENTS.md", ".//AGENTS.md"] {
            assert_eq!(needed(path, None, &rules()), Needed::Trust(Trust::Familiar), "{path}");
        }
        for path in ["./memory/private/y.md", "memory//private/y.md", "memory/./private/y.md"] {
            assert_eq!(needed(path, None, &rules()), Needed::Trust(Trust::Full), "{path}");
        }
    }

    #[test]
    fn a_rule_can_ask_for_more_than_a_store_does_and_never_for_less() {
        assert_eq!(needed("memory/private/x.md", None, &rules()), Needed::Trust(Trust::Full));
        assert_eq!(needed("memory/odd/x.md", None, &rules()), Needed::Nobody);
    }

    #[test]
    fn a_users_folder_is_that_users_alone_whatever_the_trust() {
        assert_eq!(needed("users/alice/USER.md", Some("alice"), &rules()), Needed::Trust(Trust::Full));
        assert_eq!(needed("users/alice/notes.md", Some("alice"), &rules()), Needed::Trust(Trust::Inner));
        assert_eq!(needed("users/alice/USER.md", Some("bob"), &rules()), Needed::Nobody);
        assert_eq!(needed("users/alice/USER.md", None, &rules()), Needed::Nobody);
    }

    #[test]
    fn what_no_rule_mentions_needs_what_the_asker_says() {
        assert!(Needed::Unruled.permits(Trust::Public, Trust::Public));
        assert!(!Needed::Unruled.permits(Trust::Inner, Trust::Full));
        assert!(!Needed::Nobody.permits(Trust::Full, Trust::Public));
    }
}
