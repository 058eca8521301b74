//! The parameters of a tool as JSON Schema, the form every provider takes. The keys come out sorted, so that the same
//! tool is always the same bytes: tools stand before the system prompt in what a provider caches.

use foreword_prompt::tool::{Parameter, ParameterKind, ToolSpec};
use serde_json::{Map, Value, json};

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
    let properties: Map<String, Value> =
        tool.parameters.iter().map(|parameter| (parameter.name.clone(), property(parameter))).collect();
    let required: Vec<&str> = tool
        .parameters
        .iter()
        .filter(|parameter| parameter.required)
        .map(|parameter| parameter.name.as_str())
        .collect();
    let mut schema = json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    schema.sort_all_objects();
    schema
}

fn property(parameter: &Parameter) -> Value {
    let description = parameter.description.as_str();
    match &parameter.kind {
        ParameterKind::String => json!({ "type": "string", "description": description }),
        ParameterKind::Integer => json!({ "type": "integer", "description": description }),
        ParameterKind::Boolean => json!({ "type": "boolean", "description": description }),
        ParameterKind::Choice(words) => {
            json!({ "type": "string", "enum": words, "description": description })
        }
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
