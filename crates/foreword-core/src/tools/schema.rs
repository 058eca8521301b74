//! The parameters of a tool as JSON Schema. Keys are sorted, so that the same tool always gives the same bytes: tools
//! precede the system prompt in the provider's cache.

use std::collections::BTreeMap;

use foreword_prompt::tool::{Parameter, ParameterKind, ToolSpec};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The JSON Schema of the arguments of `tool`.
///
/// ```
/// use foreword_core::tools::{builtin_tools, parameters_schema};
/// let tools = builtin_tools();
/// let skill_get = tools.iter().find(|tool| tool.name == "skill_get");
/// let schema = skill_get.map(|tool| parameters_schema(tool)["required"].to_string());
/// assert_eq!(schema.as_deref(), Some(r#"["name"]"#));
/// ```
#[must_use]
pub fn parameters_schema(tool: &ToolSpec) -> Value {
    // Serialising strings cannot fail.
    serde_json::to_value(ParametersSchema::of(tool)).unwrap_or_default()
}

/// A schema borrowed from the tool, for serialising into requests.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum ParametersSchema<'a> {
    /// The tool's own schema.
    Given(&'a RawValue),
    /// A schema generated from its parameters.
    Made(GeneratedSchema<'a>),
}

/// A schema generated from parameters.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GeneratedSchema<'a> {
    // In alphabetical order, like all keys here.
    additional_properties: bool,
    properties: BTreeMap<&'a str, Property<'a>>,
    required: Vec<&'a str>,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Debug, Serialize)]
struct Property<'a> {
    description: &'a str,
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    words: Option<&'a [String]>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
}

impl<'a> ParametersSchema<'a> {
    /// The schema of the arguments of `tool`.
    #[must_use]
    pub fn of(tool: &'a ToolSpec) -> Self {
        // Invalid JSON would break the whole request, so the generated schema is sent instead.
        let given = tool.schema.as_deref().and_then(|text| serde_json::from_str::<&RawValue>(text).ok());
        given.map_or_else(|| Self::Made(GeneratedSchema::of(tool)), Self::Given)
    }
}

impl<'a> GeneratedSchema<'a> {
    fn of(tool: &'a ToolSpec) -> Self {
        let required = tool.parameters.iter().filter(|parameter| parameter.required);
        Self {
            additional_properties: false,
            properties: tool
                .parameters
                .iter()
                .map(|parameter| (parameter.name.as_str(), Property::of(parameter)))
                .collect(),
            required: required.map(|parameter| parameter.name.as_str()).collect(),
            kind: "object",
        }
    }
}

impl<'a> Property<'a> {
    fn of(parameter: &'a Parameter) -> Self {
        let (kind, words) = match &parameter.kind {
            ParameterKind::String => (Some("string"), None),
            ParameterKind::Integer => (Some("integer"), None),
            ParameterKind::Boolean => (Some("boolean"), None),
            ParameterKind::Choice(words) => (Some("string"), Some(words.as_slice())),
            ParameterKind::Any => (None, None),
        };
        Self { description: &parameter.description, words, kind }
    }
}

#[cfg(test)]
mod tests {
    use foreword_prompt::trust::Trust;

    use super::*;

    #[test]
    fn schema_keys_are_sorted() {
        let tool = ToolSpec::new("tides", "Tells when the water is high.", Trust::Familiar)
            .with(Parameter::required("when", ParameterKind::choice(["today", "tomorrow"]), "Which day."))
            .with(Parameter::optional("limit", ParameterKind::Integer, "How many."))
            .with(Parameter::optional("all", ParameterKind::Boolean, "Every harbour."))
            .with(Parameter::required("harbour", ParameterKind::String, "Its name."));
        let expected = concat!(
            r#"{"additionalProperties":false,"properties":{"#,
            r#""all":{"description":"Every harbour.","type":"boolean"},"#,
            r#""harbour":{"description":"Its name.","type":"string"},"#,
            r#""limit":{"description":"How many.","type":"integer"},"#,
            r#""when":{"description":"Which day.","enum":["today","tomorrow"],"type":"string"}},"#,
            r#""required":["when","harbour"],"type":"object"}"#,
        );
        assert_eq!(parameters_schema(&tool).to_string(), expected);
        assert_eq!(serde_json::to_string(&ParametersSchema::of(&tool)).unwrap(), expected);
    }

    #[test]
    fn own_schema_is_sent_if_valid_json() {
        let any = ToolSpec::new("find", "Finds.", Trust::Full).with(Parameter::required(
            "where",
            ParameterKind::Any,
            "A place.",
        ));
        let own = r#"{"properties":{"where":{"items":{"type":"number"},"type":"array"}},"type":"object"}"#;
        let given = ToolSpec { schema: Some(own.into()), ..any.clone() };
        assert_eq!(serde_json::to_string(&ParametersSchema::of(&given)).unwrap(), own);
        let broken = ToolSpec { schema: Some("{".into()), ..any.clone() };
        assert_eq!(parameters_schema(&broken), parameters_schema(&any));
        assert_eq!(
            parameters_schema(&any)["properties"]["where"].to_string(),
            r#"{"description":"A place."}"#
        );
    }

    #[test]
    fn tool_without_parameters_takes_an_object() {
        let schema = parameters_schema(&ToolSpec::new("clock", "Tells the time.", Trust::Public));
        assert_eq!(
            schema.to_string(),
            r#"{"additionalProperties":false,"properties":{},"required":[],"type":"object"}"#
        );
    }
}
