//! Tools as a prompt lists them: name, description and parameters, and who may use them. Running them is somebody
//! else's work.

use crate::trust::Trust;

/// A parameter of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// The JSON type it takes: `string`, `integer`, `number`, `boolean`.
    pub kind: String,
    /// What it is for.
    pub description: String,
    /// Whether it must be given.
    pub required: bool,
}

/// A tool an agent can call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does and when to use it, for a model to read.
    pub description: String,
    /// What it takes, in the order to show it.
    pub parameters: Vec<Parameter>,
    /// Who may use it.
    pub trust: Trust,
}

impl ToolSpec {
    /// A tool without parameters.
    ///
    /// ```
    /// use foreword_prompt::tool::ToolSpec;
    /// use foreword_prompt::trust::Trust;
    /// let search = ToolSpec::new("memory_search", "Finds facts.", Trust::Familiar)
    ///     .required("query", "string", "What to look for.")
    ///     .optional("limit", "integer", "At most this many.");
    /// assert!(search.parameters[0].required && !search.parameters[1].required);
    /// ```
    #[must_use]
    pub fn new(name: &str, description: &str, trust: Trust) -> Self {
        Self { name: name.to_owned(), description: description.to_owned(), parameters: Vec::new(), trust }
    }

    /// The tool with one more parameter that must be given.
    #[must_use]
    pub fn required(self, name: &str, kind: &str, description: &str) -> Self {
        self.with(name, kind, description, true)
    }

    /// The tool with one more parameter that may be left out.
    #[must_use]
    pub fn optional(self, name: &str, kind: &str, description: &str) -> Self {
        self.with(name, kind, description, false)
    }

    fn with(mut self, name: &str, kind: &str, description: &str, required: bool) -> Self {
        self.parameters.push(Parameter {
            name: name.to_owned(),
            kind: kind.to_owned(),
            description: description.to_owned(),
            required,
        });
        self
    }
}
