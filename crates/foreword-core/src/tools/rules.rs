//! The owner's rules for tools by name: disabled, minimum trust, sensitive. A pattern can match all tools of a server,
//! so several rules may apply to one tool; the strictest wins.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::Trust;

use super::outside::{SEPARATOR, outside_name};

/// The wildcard for all tools of a server.
pub const ALL_TOOLS: &str = "*";

/// A tool name or a `server__*` pattern in the configuration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ToolName(Arc<str>);

impl ToolName {
    /// Parses a name. Tools of a server may be written with the server's or the model's name.
    ///
    /// ```
    /// use foreword_core::tools::ToolName;
    /// assert!(ToolName::new("files__*").covers("files__read") && !ToolName::new("files__*").covers("files-2__read"));
    /// assert!(ToolName::new("bash").covers("bash") && !ToolName::new("bash").covers("files__bash"));
    /// ```
    #[must_use]
    pub fn new(written: &str) -> Self {
        let mapped = match written.split_once(SEPARATOR) {
            Some((server, tool)) if tool != ALL_TOOLS => outside_name(server, tool),
            _ => None,
        };
        Self(mapped.map_or_else(|| written.into(), Into::into))
    }

    /// Whether it matches the tool `name`.
    #[must_use]
    pub fn covers(&self, name: &str) -> bool {
        match self.0.strip_suffix(ALL_TOOLS) {
            Some(server) => server.ends_with(SEPARATOR) && name.starts_with(server),
            None => *self.0 == *name,
        }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The owner's rules for tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolRules {
    /// Disabled tools.
    pub disabled: BTreeSet<ToolName>,
    /// The minimum trust.
    pub trust: BTreeMap<ToolName, Trust>,
    /// Tools that a tainted turn may call only with the owner's consent. May include disabled tools.
    pub sensitive: BTreeSet<ToolName>,
}

impl ToolRules {
    /// Applies the rules to a built-in tool; `None` if it is disabled. A trust rule replaces its built-in trust.
    #[must_use]
    pub fn for_built_in(&self, tool: ToolSpec) -> Option<ToolSpec> {
        let trust = self.trust(&tool.name).unwrap_or(tool.trust);
        (!self.is_disabled(&tool.name)).then_some(ToolSpec { trust, ..tool })
    }

    /// Applies the rules to an external tool; `None` if it is disabled. The rules can raise the trust of its server,
    /// not lower it.
    ///
    /// ```
    /// use foreword_core::tools::{ToolName, ToolRules};
    /// use foreword_prompt::tool::ToolSpec;
    /// use foreword_prompt::trust::Trust;
    ///
    /// let trust = [(ToolName::new("files__*"), Trust::Inner)].into();
    /// let rules = ToolRules { trust, ..ToolRules::default() };
    /// let read = ToolSpec::new("files__read", "Reads.", Trust::Familiar);
    /// assert_eq!(rules.for_outside(&read).unwrap().trust, Trust::Inner);
    /// ```
    #[must_use]
    pub fn for_outside(&self, tool: &ToolSpec) -> Option<ToolSpec> {
        let trust = self.trust(&tool.name).map_or(tool.trust, |trust| trust.stricter(tool.trust));
        (!self.is_disabled(&tool.name)).then(|| ToolSpec { trust, ..tool.clone() })
    }

    /// Whether a tainted turn needs the owner's consent to call it.
    #[must_use]
    pub fn is_sensitive(&self, name: &str) -> bool {
        self.sensitive.iter().any(|rule| rule.covers(name))
    }

    /// All names with rules; a name may occur more than once.
    pub fn names(&self) -> impl Iterator<Item = &ToolName> {
        self.disabled.iter().chain(self.trust.keys()).chain(&self.sensitive)
    }

    fn is_disabled(&self, name: &str) -> bool {
        self.disabled.iter().any(|rule| rule.covers(name))
    }

    fn trust(&self, name: &str) -> Option<Trust> {
        let about = self.trust.iter().filter(|(rule, _)| rule.covers(name));
        about.map(|(_, trust)| *trust).reduce(Trust::stricter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(disabled: &[&str], trust: &[(&str, Trust)], sensitive: &[&str]) -> ToolRules {
        let names = |written: &[&str]| written.iter().map(|name| ToolName::new(name)).collect();
        let trust = trust.iter().map(|(name, trust)| (ToolName::new(name), *trust)).collect();
        ToolRules { disabled: names(disabled), trust, sensitive: names(sensitive) }
    }

    fn check(rules: &ToolRules, name: &str, own: Trust, expected: Option<Trust>) {
        let tool = ToolSpec::new(name, "Does it.", own);
        let found = rules.for_outside(&tool).map(|tool| tool.trust);
        assert_eq!(found, expected, "{name} {own}: {rules:?}");
    }

    #[test]
    fn strictest_of_all_tool_rules_applies() {
        use Trust::{Familiar, Full, Inner};
        let none = rules(&[], &[], &[]);
        check(&none, "files__read", Familiar, Some(Familiar));
        let all = rules(&[], &[("files__*", Inner)], &[]);
        check(&all, "files__read", Familiar, Some(Inner));
        check(&all, "files__read", Full, Some(Full));
        check(&all, "files-2__read", Familiar, Some(Familiar));
        for (of_all, of_one) in [(Inner, Full), (Full, Inner), (Full, Familiar)] {
            let both = rules(&[], &[("files__*", of_all), ("files__write", of_one)], &[]);
            check(&both, "files__write", Familiar, Some(Full));
            check(&both, "files__read", Familiar, Some(of_all));
        }
        let off = rules(&["files__write", "time__*"], &[("files__write", Familiar)], &[]);
        check(&off, "files__write", Familiar, None);
        check(&off, "time__now", Familiar, None);
        check(&off, "files__write_all", Familiar, Some(Familiar));
    }

    #[test]
    fn trust_rule_replaces_built_in_trust() {
        let rules = rules(&["bash"], &[("memory_write", Trust::Inner), ("read_file", Trust::Full)], &[]);
        let seen = [("bash", Trust::Full), ("memory_write", Trust::Full), ("read_file", Trust::Inner)]
            .map(|(name, trust)| rules.for_built_in(ToolSpec::new(name, "Does it.", trust)))
            .map(|tool| tool.map(|tool| tool.trust));
        assert_eq!(seen, [None, Some(Trust::Inner), Some(Trust::Full)]);
    }

    #[test]
    fn tool_is_sensitive_by_name_or_server() {
        let rules = rules(&[], &[], &["bash", "files__write", "time__*"]);
        let sensitive = ["bash", "files__write", "time__now", "files__read", "timer__now", "write"]
            .map(|name| rules.is_sensitive(name));
        assert_eq!(sensitive, [true, true, true, false, false, false]);
    }

    #[test]
    fn rules_accept_the_servers_tool_name() {
        let listed = outside_name("files", "read file!").unwrap();
        assert!(ToolName::new("files__read file!").covers(&listed));
        assert!(ToolName::new(&listed).covers(&listed));
    }
}
