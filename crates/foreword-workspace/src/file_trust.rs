//! Who may read a file that a template names. The same rules as for layers, so that `[file:MEMORY.md]` is no way
//! around them: what no rule mentions is for the owner.

use foreword_prompt::plan::FileRule;
use foreword_prompt::trust::Trust;

use crate::memory_files::MemoryStore;

/// Whether `user` at `trust` may read `path`, which is relative to the workspace or the working directory.
///
/// ```
/// use foreword_prompt::trust::Trust;
/// use foreword_workspace::file_trust::may_read;
/// assert!(may_read("memory/social/people.md", Trust::Familiar, Some("carol"), &[]));
/// assert!(!may_read("memory/private/people.md", Trust::Inner, Some("bob"), &[]));
/// assert!(!may_read("users/alice/USER.md", Trust::Full, Some("bob"), &[]));
/// ```
#[must_use]
pub fn may_read(path: &str, trust: Trust, user: Option<&str>, rules: &[FileRule]) -> bool {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    match parts.as_slice() {
        ["memory", store, _, ..] => {
            MemoryStore::from_word(store).is_some_and(|store| trust.permits(store.needed_trust()))
        }
        ["users", owner, rest @ ..] if !rest.is_empty() => {
            let rest = rest.join("/");
            let listed = rules.iter().find(|rule| rule.per_user && rule.path == rest);
            user == Some(*owner) && trust.permits(listed.map_or(Trust::Inner, |rule| rule.trust))
        }
        parts => {
            let plain = parts.join("/");
            let listed = rules.iter().find(|rule| !rule.per_user && rule.path == plain);
            trust.permits(listed.map_or(Trust::Full, |rule| rule.trust))
        }
    }
}

/// Whether a template may include `path`: like [`may_read`], but a file that no rule is about belongs to the template.
#[must_use]
pub fn may_include(path: &str, trust: Trust, user: Option<&str>, rules: &[FileRule]) -> bool {
    let first = path.split('/').find(|part| !part.is_empty() && *part != ".").unwrap_or_default();
    let ruled = matches!(first, "memory" | "users") || rules.iter().any(|rule| rule.path == path);
    !ruled || may_read(path, trust, user, rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_rule_mentions_is_for_the_owner() {
        assert!(may_read("notes/plan.md", Trust::Full, None, &[]));
        assert!(!may_read("notes/plan.md", Trust::Inner, None, &[]));
        assert!(!may_read("memory/odd/plan.md", Trust::Full, None, &[]));
    }

    #[test]
    fn dots_and_double_slashes_do_not_get_around_a_rule() {
        for path in ["./memory/private/x.md", "memory//private/x.md", "memory/./private/x.md"] {
            assert!(!may_read(path, Trust::Inner, None, &[]), "{path}");
        }
    }

    #[test]
    fn a_template_includes_its_own_parts_but_no_memories_above_the_trust() {
        assert!(may_include("prompts/tone.md", Trust::Public, None, &[]));
        assert!(!may_include("memory/private/x.md", Trust::Inner, None, &[]));
        assert!(!may_include("./users/alice/USER.md", Trust::Inner, Some("bob"), &[]));
    }

    #[test]
    fn a_listed_file_needs_the_trust_it_is_listed_with() {
        let rules = [FileRule { path: "AGENTS.md".into(), trust: Trust::Familiar, per_user: false }];
        assert!(may_read("AGENTS.md", Trust::Familiar, None, &rules));
        assert!(!may_read("AGENTS.md", Trust::Public, None, &rules));
    }
}
