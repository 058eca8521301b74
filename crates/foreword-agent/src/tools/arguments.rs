//! The arguments of a tool call. Types and required names are already checked against the schema; here values are
//! converted, and invalid ones are rejected with a hint.

use serde_json::{Map, Value};

use crate::tool::ToolOutput;

/// The arguments of one call.
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    pub(super) fn new(arguments: Map<String, Value>) -> Self {
        Self(arguments)
    }

    /// The text called `name`.
    pub(super) fn text(&self, name: &str) -> Result<&str, ToolOutput> {
        self.optional_text(name)
            .ok_or_else(|| ToolOutput::failed(format!("`{name}` is missing: give it as a text")))
    }

    /// The text called `name`, if given. Some models send an empty text for "none".
    pub(super) fn optional_text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// The integer called `name`, at least `least`, if given.
    pub(super) fn optional_number(&self, name: &str, least: u64) -> Result<Option<u64>, ToolOutput> {
        let Some(value) = self.0.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
        let number = value.as_u64().filter(|number| *number >= least);
        let refuse =
            || ToolOutput::failed(format!("`{name}` is {value}: give a whole number from {least} on"));
        number.map(Some).ok_or_else(refuse)
    }
}
