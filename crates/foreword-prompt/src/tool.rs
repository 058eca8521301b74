//! A tool as described to the model: name, description, parameters, and the required trust. Independent of tool
//! execution and of provider formats.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::trust::Trust;

/// A tool the model may call.
///
/// ```
/// use foreword_prompt::tool::{Parameter, ParameterKind, ToolSpec};
/// use foreword_prompt::trust::Trust;
///
/// let tides = ToolSpec::new("tides", "Tells when the water is high.", Trust::Familiar)
///     .with(Parameter::required("harbour", ParameterKind::String, "Name of the harbour."))
///     .with(Parameter::optional("days", ParameterKind::Integer, "How many days ahead; 1 if left out."));
/// assert_eq!(tides.signature(), "tides(harbour, days?)");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// When to use it and what comes back, for the model to read.
    pub description: String,
    /// Its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// The minimum trust for seeing and calling it.
    pub trust: Trust,
    /// The JSON Schema of its input as text, if `parameters` cannot express it, as for a tool of an MCP server. The
    /// model receives this schema; `parameters` still list its properties.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Arc<str>>,
}

/// One parameter of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What kind of value it takes.
    pub kind: ParameterKind,
    /// What it means, for the model to read.
    pub description: String,
    /// Whether a call without it is rejected.
    pub required: bool,
}

/// What kind of value a parameter takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ParameterKind {
    /// Any text.
    String,
    /// A whole number.
    Integer,
    /// Yes or no.
    Boolean,
    /// One of these words.
    Choice(Vec<String>),
    /// Defined by the tool's own schema.
    Any,
}

impl ToolSpec {
    /// A tool without parameters.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>, trust: Trust) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters: Vec::new(),
            trust,
            schema: None,
        }
    }

    /// Adds a parameter.
    #[must_use]
    pub fn with(mut self, parameter: Parameter) -> Self {
        self.parameters.push(parameter);
        self
    }

    /// The signature, with `?` after optional parameters: `read_file(path, from?, lines?)`.
    #[must_use]
    pub fn signature(&self) -> String {
        let parameters: Vec<String> = self
            .parameters
            .iter()
            .map(|parameter| format!("{}{}", parameter.name, if parameter.required { "" } else { "?" }))
            .collect();
        format!("{}({})", self.name, parameters.join(", "))
    }
}

impl Parameter {
    /// A parameter that every call must give.
    #[must_use]
    pub fn required(name: impl Into<String>, kind: ParameterKind, description: impl Into<String>) -> Self {
        Self { name: name.into(), kind, description: description.into(), required: true }
    }

    /// A parameter that a call may leave out.
    #[must_use]
    pub fn optional(name: impl Into<String>, kind: ParameterKind, description: impl Into<String>) -> Self {
        Self { required: false, ..Self::required(name, kind, description) }
    }
}

impl ParameterKind {
    /// One of `words`.
    #[must_use]
    pub fn choice<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Choice(words.into_iter().map(str::to_owned).collect())
    }
}

impl fmt::Display for ParameterKind {
    /// As shown in a prompt: `string`, or the choices, `private|shared|social`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String => f.write_str("string"),
            Self::Integer => f.write_str("integer"),
            Self::Boolean => f.write_str("boolean"),
            Self::Choice(words) => f.write_str(&words.join("|")),
            Self::Any => f.write_str("any"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_without_parameters_is_called_with_empty_brackets() {
        assert_eq!(ToolSpec::new("clock", "Tells the time.", Trust::Public).signature(), "clock()");
    }

    #[test]
    fn choice_is_shown_as_alternatives() {
        assert_eq!(ParameterKind::choice(["private", "shared"]).to_string(), "private|shared");
        assert_eq!(ParameterKind::Integer.to_string(), "integer");
    }
}
