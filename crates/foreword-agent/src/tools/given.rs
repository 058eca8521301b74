//! What a tool was given, by name. Types and required names were checked against the schema before; here values become
//! what the tool works with, and those that make no sense are sent back with what to write instead.

use serde_json::{Map, Value};

use crate::tool::ToolOutput;

/// The arguments of one call.
pub(super) struct Given(Map<String, Value>);

impl Given {
    pub(super) fn new(arguments: Map<String, Value>) -> Self {
        Self(arguments)
    }

    /// The text called `name`.
    pub(super) fn text(&self, name: &str) -> Result<&str, ToolOutput> {
        self.optional_text(name)
            .ok_or_else(|| ToolOutput::failed(format!("`{name}` is missing: give it as a text")))
    }

    /// The text called `name`, if it was given. An empty one is what some models send for "none".
    pub(super) fn optional_text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// The whole number called `name`, at least `least`, if it was given.
    pub(super) fn optional_number(&self, name: &str, least: u64) -> Result<Option<u64>, ToolOutput> {
        let Some(value) = self.0.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
        let number = value.as_u64().filter(|number| *number >= least);
        let refuse =
            || ToolOutput::failed(format!("`{name}` is {value}: give a whole number from {least} on"));
        number.map(Some).ok_or_else(refuse)
    }
}
