//! Compares two configurations section by section, so that a reload can name the changed sections. Comments, layout and
//! the order of keys are ignored.

use std::collections::BTreeMap;

use foreword_prompt::text::ContentHash;
use serde_json::{Map, Value};

use crate::document::YamlSource;

/// The sections in the order of the manual.
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

/// A hash of each section. Hashes, because sections may contain secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sections(BTreeMap<&'static str, ContentHash>);

impl Sections {
    /// The sections of a configuration that has been parsed.
    pub(super) fn of(source: &YamlSource, text: &str) -> Self {
        let written: Option<Map<String, Value>> = source.parse().ok();
        let hash = |name: &'static str| match &written {
            Some(written) => written.get(name).filter(|value| !is_blank(value)).map(Value::to_string),
            // The YAML cannot be converted to JSON, so any section may have changed.
            None => Some(text.to_owned()),
        };
        let hashed = SECTIONS.into_iter().filter_map(|name| Some((name, ContentHash::of(&hash(name)?))));
        Self(hashed.collect())
    }

    /// Whether the configuration sets nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The sections that differ in `other`.
    pub(crate) fn changed(&self, other: &Self) -> Vec<&'static str> {
        SECTIONS.into_iter().filter(|name| self.0.get(name) != other.0.get(name)).collect()
    }
}

fn is_blank(value: &Value) -> bool {
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
    fn every_section_is_compared() {
        let schema = schemars::schema_for!(RawConfig);
        let mut known: Vec<&str> = SECTIONS.to_vec();
        known.sort_unstable();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap();
        assert_eq!(properties.keys().map(String::as_str).collect::<Vec<_>>(), known);
    }

    #[test]
    fn layout_and_comments_are_not_changes() {
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
    fn changed_secrets_are_detected_but_not_stored() {
        check(
            "providers: { openai: { api_key: s3cret } }",
            "providers: { openai: { api_key: x } }",
            &["providers"],
        );
        let config = Config::parse("foreword.yaml", "providers: { openai: { api_key: s3cret } }").unwrap();
        assert!(!format!("{:?}", config.sections).contains("s3cret"));
    }
}
