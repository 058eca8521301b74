//! What a configuration says, section by section, so that a reload can tell which of them have changed. Comments, layout
//! and the order of keys don't count.

use std::collections::BTreeMap;

use foreword_prompt::text::ContentHash;
use serde_json::{Map, Value};

use crate::document::YamlSource;

/// The sections a configuration may have, in the order of the manual.
pub const SECTIONS: [&str; 20] = [
    "agent",
    "agents",
    "users",
    "situations",
    "conversations",
    "prompt",
    "blueprints",
    "memory",
    "tools",
    "inbox",
    "prices",
    "budgets",
    "providers",
    "retry",
    "logging",
    "events",
    "schedules",
    "store",
    "server",
    "proxy",
];

/// What each section says, as a hash: there may be secrets in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sections(BTreeMap<&'static str, ContentHash>);

impl Sections {
    /// The sections of a configuration that has been read already.
    pub(super) fn of(source: &YamlSource, text: &str) -> Self {
        let written: Option<Map<String, Value>> = source.parse().ok();
        let hash = |name: &'static str| match &written {
            Some(written) => written.get(name).filter(|value| !says_nothing(value)).map(Value::to_string),
            // It was read once, but does not fit into JSON: whatever has changed, each of them may have.
            None => Some(text.to_owned()),
        };
        let hashed = SECTIONS.into_iter().filter_map(|name| Some((name, ContentHash::of(&hash(name)?))));
        Self(hashed.collect())
    }

    /// The sections that are different in `other`.
    pub(crate) fn changed(&self, other: &Self) -> Vec<&'static str> {
        SECTIONS.into_iter().filter(|name| self.0.get(name) != other.0.get(name)).collect()
    }
}

fn says_nothing(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::config::raw::RawConfig;

    fn check(before: &str, after: &str, changed: &[&str]) {
        let sections = |text: &str| Config::parse("foreword.yaml", text).unwrap().sections;
        assert_eq!(sections(before).changed(&sections(after)), changed, "{before} → {after}");
        assert_eq!(sections(after).changed(&sections(before)), changed, "{after} → {before}");
    }

    #[test]
    fn every_section_there_is_is_compared() {
        let schema = schemars::schema_for!(RawConfig);
        let mut known: Vec<&str> = SECTIONS.to_vec();
        known.sort_unstable();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap();
        assert_eq!(properties.keys().map(String::as_str).collect::<Vec<_>>(), known);
    }

    #[test]
    fn only_what_is_said_differently_has_changed() {
        check("", "# a comment\n", &[]);
        check("", "retry: {}\nagent:\n", &[]);
        check("agent: { name: Ada, class: X }", "agent:\n  class: \"X\" # why\n  name: Ada\n", &[]);
        check("agent: { name: Ada }", "agent: { name: Bea }", &["agent"]);
        check(
            "tools: { disabled: [bash] }\nretry: { max_retries: 1 }",
            "retry: { max_retries: 2 }",
            &["tools", "retry"],
        );
        check("users:\n  - { name: alice, trust: full }\n", "users: []", &["users"]);
        check("prompt: &p { budget: { tokens: 9 } }", "prompt: { budget: { tokens: 9 } }", &[]);
    }

    #[test]
    fn a_secret_that_changes_is_a_change_and_is_not_kept() {
        check(
            "providers: { openai: { api_key: s3cret } }",
            "providers: { openai: { api_key: x } }",
            &["providers"],
        );
        let config = Config::parse("foreword.yaml", "providers: { openai: { api_key: s3cret } }").unwrap();
        assert!(!format!("{:?}", config.sections).contains("s3cret"));
    }
}
