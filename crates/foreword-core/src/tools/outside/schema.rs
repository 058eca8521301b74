//! Reduces an external JSON Schema to known keywords, single-line text and sorted keys. A schema that cannot be reduced
//! without changing its meaning is rejected, and so is its tool.

use foreword_prompt::tool::{Parameter, ParameterKind};
use foreword_prompt::untrusted::preview;
use serde_json::{Map, Value, json};

/// The maximum size of a reduced schema, in bytes.
pub const MAX_SCHEMA_BYTES: usize = 16 * 1024;
/// The maximum nesting depth.
pub const MAX_SCHEMA_DEPTH: usize = 8;
/// The maximum size of an offered schema, in bytes.
const MAX_OFFERED_BYTES: usize = 512 * 1024;
/// The maximum length of a parameter's description, in characters.
const MAX_DESCRIPTION_CHARS: usize = 200;
/// The maximum length of a name, enum value, pattern or format.
const MAX_WORD_CHARS: usize = 200;

/// Why a tool is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTool {
    /// It has no name.
    #[error("it has no name")]
    NoName,
    /// Its schema is too long.
    #[error("its schema has more than {MAX_SCHEMA_BYTES} bytes")]
    TooLong,
    /// Its schema is nested too deep.
    #[error("its schema is nested more than {MAX_SCHEMA_DEPTH} deep")]
    TooDeep,
    /// Its schema is not an object schema.
    #[error("its schema is not that of an object")]
    NoObject,
    /// Its schema has a reference to something outside of it.
    #[error("its schema refers to something outside of itself")]
    Reference,
    /// A required parameter has a name that cannot be shown.
    #[error("a parameter it needs has a name that can't be shown")]
    ParameterName,
}

/// The kind of a keyword's value.
enum Keyword {
    /// A schema or a boolean.
    Schema,
    /// An array of schemas.
    Schemas,
    /// Schemas by name.
    Named,
    /// A type name or an array of them.
    Type,
    /// A number.
    Number,
    /// A boolean.
    Flag,
    /// A short string, kept verbatim.
    Word,
    /// A value, kept verbatim.
    Literal,
    /// An array of such values.
    Literals,
    /// Text for the model.
    Description,
    /// Property names.
    Names,
    /// A reference into `$defs`.
    Reference,
}

fn keyword(name: &str) -> Option<Keyword> {
    Some(match name {
        "additionalProperties" | "items" | "not" | "contains" => Keyword::Schema,
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => Keyword::Schemas,
        "properties" | "$defs" | "definitions" => Keyword::Named,
        "type" => Keyword::Type,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" | "minLength"
        | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => Keyword::Number,
        "uniqueItems" => Keyword::Flag,
        "pattern" | "format" => Keyword::Word,
        "const" | "default" => Keyword::Literal,
        "enum" => Keyword::Literals,
        "description" => Keyword::Description,
        "required" => Keyword::Names,
        "$ref" => Keyword::Reference,
        _ => return None,
    })
}

/// Reduces the schema of a tool's arguments. Idempotent.
pub(super) fn reduced(offered: &Value) -> Result<Value, InvalidTool> {
    if offered.to_string().len() > MAX_OFFERED_BYTES {
        return Err(InvalidTool::TooLong);
    }
    let Value::Object(offered) = resolved(offered) else { return Err(InvalidTool::NoObject) };
    if offered.get("type").is_some_and(|kind| kind != "object") {
        return Err(InvalidTool::NoObject);
    }
    let Value::Object(mut root) = schema(&Value::Object(offered), 0)? else {
        return Err(InvalidTool::NoObject);
    };
    // Arguments are always an object; providers reject anything else at the top level.
    root.retain(|key, _| {
        matches!(key.as_str(), "properties" | "required" | "additionalProperties" | "$defs")
    });
    root.insert("type".to_owned(), "object".into());
    root.entry("properties").or_insert_with(|| json!({}));
    let root = sorted(Value::Object(root));
    let text = root.to_string();
    if text.len() > MAX_SCHEMA_BYTES {
        return Err(InvalidTool::TooLong);
    }
    if !refers_to_itself(&root, &root) {
        return Err(InvalidTool::Reference);
    }
    Ok(root)
}

/// Resolves a schema that is only a reference to one of its definitions.
fn resolved(offered: &Value) -> Value {
    let part = offered.get("$ref").and_then(Value::as_str).and_then(definition_name).and_then(|name| {
        let definitions = offered.get("$defs").or_else(|| offered.get("definitions"))?;
        let mut part = definitions.get(name)?.as_object()?.clone();
        part.insert("$defs".to_owned(), definitions.clone());
        Some(Value::Object(part))
    });
    match part {
        Some(part) => part,
        // A tool without a schema accepts any object.
        None if offered.is_null() => json!({}),
        None => offered.clone(),
    }
}

fn schema(offered: &Value, depth: usize) -> Result<Value, InvalidTool> {
    if depth > MAX_SCHEMA_DEPTH {
        return Err(InvalidTool::TooDeep);
    }
    let offered = match offered {
        Value::Bool(any) => return Ok(Value::Bool(*any)),
        Value::Object(offered) => offered,
        _ => return Ok(json!({})),
    };
    let mut kept = Map::new();
    for (name, value) in offered {
        let Some(keyword) = keyword(name) else { continue };
        if let Some(value) = kept_value(&keyword, value, depth)? {
            let name = if name == "definitions" { "$defs" } else { name };
            kept.insert(name.to_owned(), value);
        }
    }
    require_known(&mut kept, offered)?;
    Ok(Value::Object(kept))
}

fn kept_value(keyword: &Keyword, value: &Value, depth: usize) -> Result<Option<Value>, InvalidTool> {
    Ok(match (keyword, value) {
        (Keyword::Schema, Value::Object(_) | Value::Bool(_)) => Some(schema(value, depth + 1)?),
        (Keyword::Schemas, Value::Array(all)) if !all.is_empty() => {
            Some(Value::Array(all.iter().map(|each| schema(each, depth + 1)).collect::<Result<_, _>>()?))
        }
        (Keyword::Named, Value::Object(all)) => {
            let mut kept = Map::new();
            for (name, each) in all.iter().filter(|(name, _)| is_plain(name)) {
                kept.insert(name.clone(), schema(each, depth + 1)?);
            }
            Some(Value::Object(kept))
        }
        (Keyword::Type, value) => kept_type(value),
        (Keyword::Number, Value::Number(_)) | (Keyword::Flag, Value::Bool(_)) => Some(value.clone()),
        (Keyword::Word, Value::String(word)) => is_plain(word).then(|| value.clone()),
        (Keyword::Literal, value) => is_literal(value).then(|| value.clone()),
        (Keyword::Literals, Value::Array(all)) => {
            let kept: Vec<Value> = all.iter().filter(|each| is_literal(each)).cloned().collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        (Keyword::Description, Value::String(words)) => {
            let words = preview(words, MAX_DESCRIPTION_CHARS).to_string();
            (!words.is_empty()).then(|| words.into())
        }
        (Keyword::Names, Value::Array(names)) => Some(kept_names(names)),
        (Keyword::Reference, Value::String(path)) => {
            let name = definition_name(path).filter(|name| is_plain(name)).ok_or(InvalidTool::Reference)?;
            Some(format!("#/$defs/{name}").into())
        }
        (Keyword::Reference, _) => return Err(InvalidTool::Reference),
        _ => None,
    })
}

fn kept_type(value: &Value) -> Option<Value> {
    const KNOWN: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
    let known = |value: &Value| value.as_str().is_some_and(|word| KNOWN.contains(&word));
    match value {
        Value::Array(all) => {
            let kept: Vec<Value> = all.iter().filter(|each| known(each)).cloned().collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        one => known(one).then(|| one.clone()),
    }
}

fn kept_names(names: &[Value]) -> Value {
    let mut kept: Vec<&str> = names.iter().filter_map(Value::as_str).filter(|name| is_plain(name)).collect();
    kept.sort_unstable();
    kept.dedup();
    kept.into()
}

/// Adds an empty schema for required properties without one.
fn require_known(kept: &mut Map<String, Value>, offered: &Map<String, Value>) -> Result<(), InvalidTool> {
    let Some(Value::Array(names)) = offered.get("required") else { return Ok(()) };
    if !names.iter().all(|name| name.as_str().is_some_and(is_plain)) {
        return Err(InvalidTool::ParameterName);
    }
    if let Some(Value::Object(properties)) = kept.get_mut("properties") {
        for name in names
            .iter()
            .filter_map(Value::as_str)
            .filter(|name| !properties.contains_key(*name))
            .collect::<Vec<_>>()
        {
            properties.insert(name.to_owned(), json!({}));
        }
    } else if !names.is_empty() && kept.get("type").is_none_or(|kind| kind == "object") {
        let described = names.iter().filter_map(Value::as_str).map(|name| (name.to_owned(), json!({})));
        kept.insert("properties".to_owned(), Value::Object(described.collect()));
    }
    Ok(())
}

/// Whether a text can be kept verbatim: short, on one line, and free of characters that could mislead a model.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && preview(text, MAX_WORD_CHARS).as_str() == text
}

/// Whether a value can be kept verbatim.
fn is_literal(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => text.is_empty() || is_plain(text),
        Value::Array(all) => all.is_empty(),
        Value::Object(all) => all.is_empty(),
    }
}

fn definition_name(path: &str) -> Option<&str> {
    let name = path.strip_prefix("#/$defs/").or_else(|| path.strip_prefix("#/definitions/"))?;
    (!name.contains(['/', '~', '%'])).then_some(name)
}

/// Whether every reference in `part` leads to a definition of `root`.
fn refers_to_itself(part: &Value, root: &Value) -> bool {
    match part {
        Value::Object(all) => {
            let leads = match all.get("$ref") {
                Some(Value::String(path)) => {
                    definition_name(path).is_some_and(|name| root["$defs"].get(name).is_some())
                }
                _ => true,
            };
            leads && all.values().all(|each| refers_to_itself(each, root))
        }
        Value::Array(all) => all.iter().all(|each| refers_to_itself(each, root)),
        _ => true,
    }
}

/// Sorts all keys recursively, whatever the map type.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(all) => {
            let mut entries: Vec<(String, Value)> =
                all.into_iter().map(|(key, each)| (key, sorted(each))).collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(all) => Value::Array(all.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// The parameters of a reduced schema, as far as [`Parameter`] can express them.
pub(super) fn parameters(reduced: &Value) -> Vec<Parameter> {
    let required = |name: &str| {
        reduced["required"].as_array().is_some_and(|names| names.iter().any(|each| each == name))
    };
    let Some(properties) = reduced["properties"].as_object() else { return Vec::new() };
    let parameter = |(name, each): (&String, &Value)| Parameter {
        name: name.clone(),
        kind: kind(each),
        description: each["description"].as_str().unwrap_or_default().to_owned(),
        required: required(name),
    };
    let mut parameters: Vec<Parameter> = properties.iter().map(parameter).collect();
    // Required parameters first.
    parameters.sort_by_key(|parameter| !parameter.required);
    parameters
}

fn kind(property: &Value) -> ParameterKind {
    // Types beyond these are validated by the server.
    let says = |key: &str| property.get(key).is_some();
    if says("anyOf") || says("oneOf") || says("allOf") || says("$ref") || says("const") {
        return ParameterKind::Any;
    }
    match (property["type"].as_str(), &property["enum"]) {
        (Some("string"), Value::Null) => ParameterKind::String,
        (Some("integer"), Value::Null) => ParameterKind::Integer,
        (Some("boolean"), Value::Null) => ParameterKind::Boolean,
        (Some("string") | None, Value::Array(words)) if words.iter().all(Value::is_string) => {
            ParameterKind::choice(words.iter().filter_map(Value::as_str))
        }
        _ => ParameterKind::Any,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(offered: Value, expected: Result<&str, InvalidTool>) {
        assert_eq!(
            reduced(&offered).map(|schema| schema.to_string()),
            expected.map(str::to_owned),
            "{offered}"
        );
    }

    #[test]
    fn unknown_keywords_are_dropped_and_keys_sorted() {
        check(
            json!({
                "$schema": "http://json-schema.org/draft-07/schema#", "title": "readArguments", "x-evil": "obey",
                "type": "object", "required": ["path"], "additionalProperties": false,
                "properties": {
                    "path": { "type": "string", "title": "Path", "description": "Where.\n# System", "minLength": 1 },
                    "head": { "anyOf": [{ "type": "integer" }, { "type": "null" }], "default": null },
                },
            }),
            Ok(concat!(
                r##"{"additionalProperties":false,"properties":{"head":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null},"##,
                r##""path":{"description":"Where. # System","minLength":1,"type":"string"}},"required":["path"],"type":"object"}"##,
            )),
        );
        check(json!({}), Ok(r#"{"properties":{},"type":"object"}"#));
        check(Value::Null, Ok(r#"{"properties":{},"type":"object"}"#));
    }

    #[test]
    fn undescribed_required_properties_accept_any_value() {
        check(
            json!({ "type": "object", "required": ["b", "a", "a"] }),
            Ok(r#"{"properties":{"a":{},"b":{}},"required":["a","b"],"type":"object"}"#),
        );
    }

    #[test]
    fn external_references_are_rejected() {
        let with = |path: &str| json!({ "definitions": { "Zone": { "type": "string" } }, "type": "object", "properties": { "zone": { "$ref": path } } });
        let local = r##"{"$defs":{"Zone":{"type":"string"}},"properties":{"zone":{"$ref":"#/$defs/Zone"}},"type":"object"}"##;
        check(with("#/definitions/Zone"), Ok(local));
        for elsewhere in
            ["#/$defs/Zome", "https://evil.example/x.json", "#", "#/properties/zone", "file:///etc/passwd"]
        {
            check(with(elsewhere), Err(InvalidTool::Reference));
        }
        check(
            json!({ "$ref": "#/$defs/A", "$defs": { "A": { "type": "object", "properties": { "x": {} } } } }),
            Ok(
                r#"{"$defs":{"A":{"properties":{"x":{}},"type":"object"}},"properties":{"x":{}},"type":"object"}"#,
            ),
        );
    }

    #[test]
    fn oversized_and_non_object_schemas_are_rejected() {
        let nested =
            |depth| (0..depth).fold(json!({}), |inner, _| json!({ "type": "array", "items": inner }));
        let with = |schema: Value| json!({ "type": "object", "properties": { "x": schema } });
        assert!(reduced(&with(nested(6))).is_ok());
        check(with(nested(40)), Err(InvalidTool::TooDeep));
        let many: Map<String, Value> =
            (0..2_000).map(|n| (format!("p{n}"), json!({ "type": "string" }))).collect();
        check(json!({ "type": "object", "properties": many }), Err(InvalidTool::TooLong));
        check(with(json!({ "description": "x".repeat(1_000_000) })), Err(InvalidTool::TooLong));
        check(json!({ "type": "string" }), Err(InvalidTool::NoObject));
        check(json!([1]), Err(InvalidTool::NoObject));
        check(json!({ "type": "object", "required": ["a\nb"] }), Err(InvalidTool::ParameterName));
    }

    #[test]
    fn complex_types_become_any() {
        let schema = reduced(&json!({
            "type": "object", "required": ["path"],
            "properties": {
                "path": { "type": "string", "description": "Where." },
                "count": { "type": "integer" },
                "order": { "type": "string", "enum": ["up", "down"] },
                "ratio": { "type": "number" },
                "maybe": { "type": ["string", "null"] },
            },
        }));
        let parameters = parameters(&schema.unwrap());
        let seen: Vec<(&str, String, bool)> = parameters
            .iter()
            .map(|each| (each.name.as_str(), each.kind.to_string(), each.required))
            .collect();
        let expected = [
            ("path", "string", true),
            ("count", "integer", false),
            ("maybe", "any", false),
            ("order", "up|down", false),
            ("ratio", "any", false),
        ];
        assert_eq!(seen, expected.map(|(name, kind, required)| (name, kind.to_owned(), required)));
    }
}
