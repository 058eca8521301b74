//! Validates the parameters of a workflow run: only declared names, each with a value of its type. Reports all problems
//! at once.

use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::untrusted::single_line;
use serde_json::{Map, Value};

use super::{ParameterType, Workflow, WorkflowParameter};

/// The maximum length of a name or value repeated in a message.
const MAX_ECHO_CHARS: usize = 40;
/// The maximum number of problems listed one by one.
const MAX_LISTED_PROBLEMS: usize = 8;

/// Invalid parameters for a workflow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .text)]
pub struct BadParameters {
    /// All problems, in the order of the workflow's parameters, then the unknown names.
    pub problems: Vec<String>,
    text: String,
}

impl BadParameters {
    fn new(workflow: &Workflow, problems: Vec<String>) -> Self {
        let mut text = format!("`{}` was not run, its parameters do not fit:\n", workflow.name);
        for problem in problems.iter().take(MAX_LISTED_PROBLEMS) {
            text.push_str(&format!("- {problem}\n"));
        }
        if let Some(more) = problems.len().checked_sub(MAX_LISTED_PROBLEMS).filter(|more| *more > 0) {
            text.push_str(&format!("- and {more} more\n"));
        }
        let takes = match workflow.signature().join(", ") {
            none if none.is_empty() => "no parameters".to_owned(),
            some => format!("`{some}`"),
        };
        text.push_str(&format!("It takes {takes}."));
        Self { problems, text }
    }
}

/// Validates the parameters of a run, and adds the defaults.
///
/// ```
/// use foreword_workspace::workflows::{Workflow, fit};
/// use serde_json::json;
/// let yaml = "
/// name: greet
/// description: Says hello.
/// parameters:
///   - { name: who, required: true }
///   - { name: times, type: integer, default: 1 }
/// steps:
///   - prompt: Say hello to {{ who }}.
/// ";
/// let greet = Workflow::parse("workflows/greet.yaml", yaml.into()).unwrap();
/// let taken = fit(&greet, json!({ "who": "bob" }).as_object().unwrap()).unwrap();
/// assert_eq!(serde_json::Value::from(taken), json!({ "who": "bob", "times": 1 }));
/// let refused = fit(&greet, json!({ "woh": "bob" }).as_object().unwrap()).unwrap_err();
/// assert_eq!(refused.to_string(), "\
/// `greet` was not run, its parameters do not fit:
/// - `who` (string) is missing
/// - `woh` is not a parameter; did you mean `who`?
/// It takes `who, times?`.");
/// ```
///
/// # Errors
/// If a parameter is missing, unknown, or of the wrong type.
pub fn fit(workflow: &Workflow, given: &Map<String, Value>) -> Result<Map<String, Value>, BadParameters> {
    let (mut taken, mut problems) = (Map::new(), Vec::new());
    for parameter in &workflow.parameters {
        match given.get(&parameter.name).filter(|value| !value.is_null()) {
            None if parameter.required => {
                problems.push(format!("`{}` ({}) is missing", parameter.name, parameter.kind.as_str()));
            }
            None => {
                taken.extend(parameter.default.clone().map(|default| (parameter.name.clone(), default)));
            }
            Some(value) => match fitting(parameter.kind, value) {
                Some(value) => drop(taken.insert(parameter.name.clone(), value)),
                None => problems.push(wrong(parameter, &described(value))),
            },
        }
    }
    let unknown = given.keys().filter(|name| find(workflow, name).is_none());
    problems.extend(unknown.map(|name| unknown_name(workflow, name)));
    if problems.is_empty() { Ok(taken) } else { Err(BadParameters::new(workflow, problems)) }
}

/// Parses parameters written as `name=value`: a text as it is, every other type as JSON.
///
/// # Errors
/// If an argument has no `=`, a name occurs twice, or a value cannot be parsed as its type.
pub fn parse_arguments(workflow: &Workflow, words: &[String]) -> Result<Map<String, Value>, BadParameters> {
    let (mut given, mut problems) = (Map::new(), Vec::new());
    for word in words {
        let Some((name, written)) = word.split_once('=') else {
            problems.push(format!("`{}` is not of the form `name=value`", single_line(word, MAX_ECHO_CHARS)));
            continue;
        };
        let value = match find(workflow, name) {
            None => Some(Value::String(written.to_owned())),
            Some(parameter) if parameter.kind == ParameterType::String => {
                Some(Value::String(written.to_owned()))
            }
            Some(parameter) => {
                let value = serde_json::from_str(written).ok().filter(|value| parameter.kind.accepts(value));
                if value.is_none() {
                    problems.push(wrong(parameter, &format!("`{}`", single_line(written, MAX_ECHO_CHARS))));
                }
                value
            }
        };
        let Some(value) = value else { continue };
        if given.insert(name.to_owned(), value).is_some() {
            problems.push(format!("`{}` is given twice", single_line(name, MAX_ECHO_CHARS)));
        }
    }
    if problems.is_empty() { Ok(given) } else { Err(BadParameters::new(workflow, problems)) }
}

fn find<'a>(workflow: &'a Workflow, name: &str) -> Option<&'a WorkflowParameter> {
    workflow.parameters.iter().find(|parameter| parameter.name == name)
}

fn unknown_name(workflow: &Workflow, name: &str) -> String {
    let known = workflow.parameters.iter().map(|parameter| parameter.name.as_str());
    let near = (name.len() <= 64).then(|| did_you_mean(name, known)).flatten();
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    format!("`{}` is not a parameter{hint}", single_line(name, MAX_ECHO_CHARS))
}

fn wrong(parameter: &WorkflowParameter, given: &str) -> String {
    let wanted = match parameter.kind {
        ParameterType::String => "a string",
        ParameterType::Number => "a number",
        ParameterType::Integer => "a whole number",
        ParameterType::Boolean => "`true` or `false`",
        ParameterType::Array => "a list",
        ParameterType::Object => "an object",
    };
    format!("`{}` takes {wanted}, not {given}", parameter.name)
}

/// Describes a value without its content.
fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Number(number) => format!("the number `{number}`"),
        Value::String(text) => format!("the string `{}`", single_line(text, MAX_ECHO_CHARS)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// Converts the value to its type, if possible. Models sometimes write numbers as strings.
fn fitting(kind: ParameterType, value: &Value) -> Option<Value> {
    if kind.accepts(value) {
        return Some(value.clone());
    }
    let Value::String(text) = value else { return None };
    let read: Value = serde_json::from_str(text.trim()).ok()?;
    kind.accepts(&read).then_some(read)
}
