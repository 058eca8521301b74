//! The parameters of a tool as JSON Schema, the form every provider takes. The keys come out sorted, so that the same
//! tool is always the same bytes: tools stand before the system prompt in what a provider caches.

use std::collections::BTreeMap;

use foreword_prompt::tool::{Parameter, ParameterKind, ToolSpec};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The JSON Schema of what `tool` takes.
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
    // Texts in a fixed shape: they have a JSON form.
    serde_json::to_value(ParametersSchema::of(tool)).unwrap_or_default()
}

/// The same on its way into a request: borrowed from the tool, since it is written anew for each.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum ParametersSchema<'a> {
    /// The schema the tool brings along.
    Given(&'a RawValue),
    /// One made of its parameters.
    Made(MadeSchema<'a>),
}

/// A schema made of parameters.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MadeSchema<'a> {
    // In the order of the letters, as all keys here.
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
    /// What `tool` takes.
    #[must_use]
    pub fn of(tool: &'a ToolSpec) -> Self {
        // A text that is no JSON would break the whole request: what its parameters say is sent instead.
        let given = tool.schema.as_deref().and_then(|text| serde_json::from_str::<&RawValue>(text).ok());
        given.map_or_else(|| Self::Made(MadeSchema::of(tool)), Self::Given)
    }
}

impl<'a> MadeSchema<'a> {
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
    fn a_schema_says_what_is_required_and_refuses_the_rest_with_its_keys_in_order() {
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
    fn a_tool_that_brings_its_own_schema_is_sent_with_it_unless_it_is_no_json() {
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
    fn a_tool_without_parameters_still_takes_an_object() {
        let schema = parameters_schema(&ToolSpec::new("clock", "Tells the time.", Trust::Public));
        assert_eq!(
            schema.to_string(),
            r#"{"additionalProperties":false,"properties":{},"required":[],"type":"object"}"#
        );
    }
}
