//! Validates the arguments of tool calls. Valid arguments have only known names and values of the right type. Errors
//! are written for the model, so that it can correct the call.

use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::tool::{Parameter, ParameterKind, ToolSpec};
use foreword_prompt::untrusted::single_line;
use serde_json::{Map, Number, Value};

/// How many characters of a name or value an error repeats.
const ECHO_CHARS: usize = 40;
/// The maximum number of problems listed.
const MAX_NAMED: usize = 8;
/// The maximum length of a name to suggest a correction for.
const MAX_COMPARED_BYTES: usize = 64;

/// Invalid arguments of a tool call, with all problems, for the model that wrote them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .text)]
pub struct BadArguments {
    /// Every problem: first by parameter, then unknown names.
    pub problems: Vec<String>,
    text: String,
}

impl BadArguments {
    fn new(tool: &ToolSpec, problems: Vec<String>) -> Self {
        let mut text = format!("`{}` was not run, its arguments do not fit:\n", tool.name);
        for problem in problems.iter().take(MAX_NAMED) {
            text.push_str(&format!("- {problem}\n"));
        }
        if let Some(more) = problems.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
            text.push_str(&format!("- and {more} more\n"));
        }
        text.push_str(&format!("Call it as `{}`.", tool.signature()));
        Self { problems, text }
    }
}

/// The normalised arguments of a call of `tool`: integers are numbers, and omitted values are absent.
///
/// ```
/// use foreword_core::tools::{builtin_tools, check_arguments};
/// use serde_json::json;
///
/// let tools = builtin_tools();
/// let memory_get = tools.iter().find(|tool| tool.name == "memory_get").unwrap();
/// let given = json!({ "path": "social/trip.md", "from": "5", "lines": null });
/// let taken = check_arguments(memory_get, &given).unwrap();
/// assert_eq!(serde_json::Value::from(taken), json!({ "path": "social/trip.md", "from": 5 }));
///
/// let refused = check_arguments(memory_get, &json!({ "paht": "social/trip.md" })).unwrap_err();
/// assert_eq!(refused.to_string(), "\
/// `memory_get` was not run, its arguments do not fit:
/// - `path` (string) is missing
/// - `paht` is not a parameter; did you mean `path`?
/// Call it as `memory_get(path, from?, lines?)`.");
/// ```
///
/// # Errors
/// If they are not an object, have unknown or missing names, or a value of the wrong type.
pub fn check_arguments(tool: &ToolSpec, input: &Value) -> Result<Map<String, Value>, BadArguments> {
    let nothing = Map::new();
    let given = match input {
        Value::Object(given) => given,
        Value::Null => &nothing,
        // Some servers send this for a call without arguments.
        Value::String(text) if text.trim().is_empty() => &nothing,
        other => return Err(BadArguments::new(tool, vec![no_object(other)])),
    };
    let mut taken = Map::new();
    let mut problems = Vec::new();
    for parameter in &tool.parameters {
        match given.get(&parameter.name) {
            None if parameter.required => {
                problems.push(format!("`{}` ({}) is missing", parameter.name, parameter.kind));
            }
            Some(Value::Null) if parameter.required && parameter.kind != ParameterKind::Any => {
                problems.push(format!("`{}` ({}) is missing", parameter.name, parameter.kind));
            }
            // For a parameter of any type, null is a value.
            Some(Value::Null) if parameter.kind != ParameterKind::Any => {}
            None => {}
            Some(value) => match fitting(&parameter.kind, value) {
                Some(value) => drop(taken.insert(parameter.name.clone(), value)),
                None => problems.push(wrong_value(parameter, value)),
            },
        }
    }
    let is_known = |name: &str| tool.parameters.iter().any(|parameter| parameter.name == name);
    let others = given.iter().filter(|(name, _)| !is_known(name));
    if takes_others(tool) {
        taken.extend(others.map(|(name, value)| (name.clone(), value.clone())));
    } else {
        problems.extend(others.map(|(name, _)| unknown_name(tool, name)));
    }
    if problems.is_empty() { Ok(taken) } else { Err(BadArguments::new(tool, problems)) }
}

/// Whether the tool's schema explicitly allows additional properties. By default they are rejected, since an unknown
/// name is usually a mistake.
fn takes_others(tool: &ToolSpec) -> bool {
    let schema = tool.schema.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    match schema.as_ref().and_then(|schema| schema.get("additionalProperties")) {
        Some(Value::Bool(taken)) => *taken,
        Some(_) => true,
        None => false,
    }
}

fn no_object(value: &Value) -> String {
    match value {
        Value::String(text) => format!(
            "they are not JSON, or were cut off: `{}`; send one whole JSON object",
            single_line(text, ECHO_CHARS)
        ),
        other => format!("they are {}; send one JSON object", described(other)),
    }
}

fn unknown_name(tool: &ToolSpec, name: &str) -> String {
    let known = tool.parameters.iter().map(|parameter| parameter.name.as_str());
    let meant = if name.len() <= MAX_COMPARED_BYTES { did_you_mean(name, known) } else { None };
    let hint = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
    format!("`{}` is not a parameter{hint}", single_line(name, ECHO_CHARS))
}

fn wrong_value(parameter: &Parameter, value: &Value) -> String {
    let wanted = match &parameter.kind {
        ParameterKind::String => "a string".to_owned(),
        ParameterKind::Integer => "a whole number".to_owned(),
        ParameterKind::Boolean => "`true` or `false`".to_owned(),
        ParameterKind::Any => "a value".to_owned(),
        ParameterKind::Choice(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            format!("one of {}", words.join(", "))
        }
    };
    format!("`{}` takes {wanted}, not {}", parameter.name, described(value))
}

/// A short description of a value.
fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Number(number) => format!("the number `{}`", single_line(&number.to_string(), ECHO_CHARS)),
        Value::String(text) => format!("the string `{}`", single_line(text, ECHO_CHARS)),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// The value in the form the tool reads, if it has the right type.
fn fitting(kind: &ParameterKind, value: &Value) -> Option<Value> {
    match (kind, value) {
        (ParameterKind::String, Value::String(_))
        | (ParameterKind::Boolean, Value::Bool(_))
        | (ParameterKind::Any, _) => Some(value.clone()),
        // Models write ids that look like numbers as numbers.
        (ParameterKind::String, Value::Number(number)) => whole(number).map(|whole| whole.to_string().into()),
        (ParameterKind::Choice(words), Value::String(word)) => words.contains(word).then(|| value.clone()),
        (ParameterKind::Integer, Value::Number(number)) => whole(number).map(Value::from),
        (ParameterKind::Integer, Value::String(text)) => text.trim().parse::<i64>().ok().map(Value::from),
        (ParameterKind::Boolean, Value::String(text)) => text.parse::<bool>().ok().map(Value::from),
        _ => None,
    }
}

/// The integer value of `number`, in any notation.
fn whole(number: &Number) -> Option<i64> {
    // Above this, a float does not represent a unique integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = || number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < EXACT);
    #[expect(clippy::cast_possible_truncation, reason = "it is whole, and small enough to be exact")]
    let from_float = |float: f64| float as i64;
    number.as_i64().or_else(|| float().map(from_float))
}

#[cfg(test)]
mod tests {
    use foreword_prompt::trust::Trust;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn tides() -> ToolSpec {
        ToolSpec::new("tides", "Tells when the water is high.", Trust::Familiar)
            .with(Parameter::required("harbour", ParameterKind::String, "Its name."))
            .with(Parameter::required("day", ParameterKind::choice(["today", "tomorrow"]), "Which day."))
            .with(Parameter::optional("limit", ParameterKind::Integer, "How many."))
            .with(Parameter::optional("low", ParameterKind::Boolean, "Low water too."))
    }

    /// The result with valid `day` and `harbour` and additional `extra`.
    fn with(extra: &Value) -> Result<Value, Vec<String>> {
        let mut input = json!({ "harbour": "Lisbon", "day": "today" });
        for (name, value) in extra.as_object().unwrap() {
            input[name] = value.clone();
        }
        check_arguments(&tides(), &input).map(Value::from).map_err(|refused| refused.problems)
    }

    #[test]
    fn equivalent_values_are_normalised() {
        for (given, expected) in [
            (json!({ "limit": 5 }), json!(5)),
            (json!({ "limit": "5" }), json!(5)),
            (json!({ "limit": " -5 " }), json!(-5)),
            (json!({ "limit": 5.0 }), json!(5)),
            (json!({ "limit": -0.0 }), json!(0)),
            (json!({ "limit": i64::MAX }), json!(i64::MAX)),
        ] {
            assert_eq!(with(&given).unwrap()["limit"].to_string(), expected.to_string(), "{given}");
        }
        for given in [json!({ "low": true }), json!({ "low": "true" })] {
            assert_eq!(with(&given).unwrap()["low"], json!(true));
        }
        for given in [json!({ "harbour": 7 }), json!({ "harbour": "7" }), json!({ "harbour": 7.0 })] {
            assert_eq!(with(&given).unwrap()["harbour"], json!("7"), "{given}");
        }
        let plain = json!({ "harbour": "Lisbon", "day": "today" });
        assert_eq!(with(&json!({ "limit": null, "low": null })), Ok(plain.clone()));
        assert_eq!(with(&json!({})), Ok(plain));
    }

    #[test]
    fn wrong_values_are_answered_with_the_expected_type() {
        for (given, problem) in [
            (json!({ "limit": 5.5 }), "`limit` takes a whole number, not the number `5.5`"),
            (json!({ "limit": 1e300 }), "`limit` takes a whole number, not the number `1e+300`"),
            (
                json!({ "limit": u64::MAX }),
                "`limit` takes a whole number, not the number `18446744073709551615`",
            ),
            (json!({ "limit": "five" }), "`limit` takes a whole number, not the string `five`"),
            (json!({ "limit": [] }), "`limit` takes a whole number, not an array"),
            (json!({ "low": 1 }), "`low` takes `true` or `false`, not the number `1`"),
            (json!({ "harbour": {} }), "`harbour` takes a string, not an object"),
            (json!({ "harbour": 7.5 }), "`harbour` takes a string, not the number `7.5`"),
            (json!({ "harbour": null }), "`harbour` (string) is missing"),
            (json!({ "day": "Today" }), "`day` takes one of `today`, `tomorrow`, not the string `Today`"),
            (json!({ "limt": 5 }), "`limt` is not a parameter; did you mean `limit`?"),
            (json!({ "weather": null }), "`weather` is not a parameter"),
        ] {
            assert_eq!(with(&given), Err(vec![problem.to_owned()]), "{given}");
        }
    }

    #[test]
    fn every_problem_is_named_at_once() {
        let refused = check_arguments(&tides(), &json!({ "day": "later", "limit": "x", "habour": "Lisbon" }));
        assert_eq!(
            refused.unwrap_err().to_string(),
            "`tides` was not run, its arguments do not fit:\n\
             - `harbour` (string) is missing\n\
             - `day` takes one of `today`, `tomorrow`, not the string `later`\n\
             - `limit` takes a whole number, not the string `x`\n\
             - `habour` is not a parameter; did you mean `harbour`?\n\
             Call it as `tides(harbour, day, limit?, low?)`."
        );
    }

    #[test]
    fn invalid_json_is_reported() {
        let refused = check_arguments(&tides(), &json!("{\"harbour\": \"Lis")).unwrap_err();
        assert_eq!(
            refused.problems,
            ["they are not JSON, or were cut off: `{\"harbour\": \"Lis`; send one whole JSON object"]
        );
        let refused = check_arguments(&tides(), &json!([1])).unwrap_err();
        assert_eq!(refused.problems, ["they are an array; send one JSON object"]);
    }

    #[test]
    fn missing_arguments_are_an_empty_object() {
        let clock = ToolSpec::new("clock", "Tells the time.", Trust::Public);
        for nothing in [json!({}), json!(null), json!(""), json!(" ")] {
            assert_eq!(check_arguments(&clock, &nothing), Ok(Map::new()));
            assert_eq!(check_arguments(&tides(), &nothing).unwrap_err().problems.len(), 2);
        }
    }

    #[test]
    fn external_schema_decides_about_extra_arguments() {
        let schema = |open: &str| format!(r#"{{"properties":{{"x":{{}}}},"type":"object"{open}}}"#);
        let tool = |open: &str| ToolSpec {
            schema: Some(schema(open).into()),
            ..ToolSpec::new("far__x", "Far.", Trust::Full).with(Parameter::required(
                "x",
                ParameterKind::Any,
                "Anything.",
            ))
        };
        let given = json!({ "x": null, "y": [1] });
        assert_eq!(
            check_arguments(&tool(r#","additionalProperties":true"#), &given).map(Value::from),
            Ok(given.clone())
        );
        assert!(check_arguments(&tool(r#","additionalProperties":{"type":"array"}"#), &given).is_ok());
        for closed in ["", r#","additionalProperties":false"#] {
            let refused = check_arguments(&tool(closed), &given).unwrap_err();
            assert_eq!(refused.problems, ["`y` is not a parameter"]);
        }
        assert_eq!(check_arguments(&tool(""), &json!({})).unwrap_err().problems, ["`x` (any) is missing"]);
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[0-9]{1,20}|today|true|\\PC{0,50}|(\n|`|<turn-context>){0,9}".prop_map(Value::from),
        ];
        leaf.prop_recursive(2, 8, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-z]{0,3}", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn any_input() -> impl Strategy<Value = Value> {
        let name = "harbour|day|limit|low|harbor|(\\PC|\n|`){0,300}";
        let object = prop::collection::btree_map(name, any_value(), 0..30)
            .prop_map(|map| Value::Object(map.into_iter().collect()));
        let nearly_right = (any::<String>(), "today|tomorrow", any_value(), any_value()).prop_map(
            |(harbour, day, limit, low)| json!({ "harbour": harbour, "day": day, "limit": limit, "low": low }),
        );
        prop_oneof![4 => object, 4 => nearly_right, 1 => any_value()]
    }

    proptest! {
        #[test]
        fn normalisation_is_idempotent(input in any_input()) {
            let Ok(taken) = check_arguments(&tides(), &input) else { return Ok(()) };
            prop_assert!(taken["harbour"].is_string());
            prop_assert!(taken["day"] == "today" || taken["day"] == "tomorrow");
            prop_assert!(taken.get("limit").is_none_or(Value::is_i64));
            prop_assert!(taken.get("low").is_none_or(Value::is_boolean));
            prop_assert!(taken.keys().all(|name| ["harbour", "day", "limit", "low"].contains(&name.as_str())));
            prop_assert_eq!(check_arguments(&tides(), &Value::Object(taken.clone())), Ok(taken));
        }

        #[test]
        fn errors_are_short_and_escaped(input in any_input()) {
            let Err(refused) = check_arguments(&tides(), &input) else { return Ok(()) };
            let text = refused.to_string();
            let lines: Vec<&str> = text.split('\n').collect();
            prop_assert!(text.chars().count() < 2_000, "{}", text);
            prop_assert!(!text.contains("<turn-context>") && !refused.problems.is_empty());
            prop_assert!(lines.len() <= MAX_NAMED + 3);
            prop_assert!(lines[1..lines.len() - 1].iter().all(|line| line.starts_with("- ")));
            prop_assert_eq!(lines[lines.len() - 1], "Call it as `tides(harbour, day, limit?, low?)`.");
        }
    }
}
