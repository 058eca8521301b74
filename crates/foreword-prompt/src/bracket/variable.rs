//! Variables and their values. Independent of where values come from.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What a tag refers to: `file:AGENTS.md` is of kind `file` and has the name `AGENTS.md`.
///
/// ```
/// use foreword_prompt::bracket::Variable;
/// let variable = Variable::new("file", "docs/a b.md");
/// assert_eq!(variable.to_string(), "file:docs/a b.md");
/// assert_eq!(Variable::parse(" file: docs/a b.md "), Some(variable));
/// assert_eq!(Variable::parse("not a variable"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variable {
    kind: Arc<str>,
    name: Arc<str>,
}

impl Variable {
    /// The variable `kind:name`.
    pub fn new(kind: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { kind: kind.into(), name: name.into() }
    }

    /// Parses a text such as `system:time`, by the rules of a tag's body.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, name) = split_variable(text.trim())?;
        Some(Self::new(kind, name))
    }

    /// The type: what is before the colon.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The name: what is after the colon.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.name)
    }
}

/// Splits `type:name`. A type is one word, so that `[IF file:A]` and most prose with a colon are not variables. It does
/// not start with `!`, which negates a condition. Neither part is empty.
pub(super) fn split_variable(text: &str) -> Option<(&str, &str)> {
    let (kind, name) = text.split_once(':')?;
    let name = name.trim();
    let is_type = !kind.is_empty() && !kind.starts_with('!') && !kind.contains(char::is_whitespace);
    (is_type && !name.is_empty()).then_some((kind, name))
}

/// The values a template is rendered with. A variable is absent, or has a text, which may be empty; `[if …]` tests
/// only for absence. A variable that was never set is absent.
///
/// ```
/// use foreword_prompt::bracket::{Mode, Template, Values};
/// let values = Values::new().with("file", "A", "").without("file", "B");
/// let template = Template::parse("[if file:A]there[endif], [if !file:B]not there[endif]", Mode::Bracket);
/// assert_eq!(template.render(&values), "there, not there");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Values {
    values: BTreeMap<Variable, Option<Arc<str>>>,
}

impl Values {
    /// No values: every variable is absent.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `kind:name` to `text`.
    #[must_use]
    pub fn with(mut self, kind: &str, name: &str, text: impl Into<Arc<str>>) -> Self {
        self.set(Variable::new(kind, name), Some(text.into()));
        self
    }

    /// Makes `kind:name` absent.
    #[must_use]
    pub fn without(mut self, kind: &str, name: &str) -> Self {
        self.set(Variable::new(kind, name), None);
        self
    }

    /// Sets the value of a variable; `None` makes it absent.
    pub fn set(&mut self, variable: Variable, value: Option<Arc<str>>) {
        self.values.insert(variable, value);
    }

    /// The text of a variable, `None` if it is absent.
    #[must_use]
    pub fn get(&self, variable: &Variable) -> Option<&Arc<str>> {
        self.values.get(variable)?.as_ref()
    }
}

impl FromIterator<(Variable, Option<Arc<str>>)> for Values {
    fn from_iter<I: IntoIterator<Item = (Variable, Option<Arc<str>>)>>(values: I) -> Self {
        Self { values: values.into_iter().collect() }
    }
}
