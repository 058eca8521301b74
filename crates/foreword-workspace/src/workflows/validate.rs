//! Validates a workflow file and builds a [`Workflow`]; each problem has its position.

use foreword_core::template_context::TemplateContext;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use serde_saphyr::{Location, Spanned};

use super::templates::{TemplateScope, check};
use super::{ParameterType, StepAction, Workflow, WorkflowParameter, WorkflowStep};
use crate::config::ConfiguredSettings;
use crate::document::{DocumentError, YamlSource};
use foreword_prompt::jinja::RESERVED_NAMES;
use foreword_prompt::text::ContentHash;
use foreword_prompt::trust::Trust;

const MAX_NAME_CHARS: usize = 64;
const MAX_DESCRIPTION_CHARS: usize = 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWorkflow {
    name: Spanned<String>,
    description: Spanned<String>,
    #[serde(default)]
    parameters: Vec<RawParameter>,
    steps: Spanned<Vec<Spanned<RawStep>>>,
    output: Option<Spanned<String>>,
    trust: Option<Trust>,
    session_instructions: Option<String>,
    cwd: Option<String>,
    context: Option<TemplateContext>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawParameter {
    name: Spanned<String>,
    #[serde(rename = "type", default = "text")]
    kind: ParameterType,
    description: Option<Spanned<String>>,
    required: Option<Spanned<bool>>,
    default: Option<Spanned<Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    name: Option<Spanned<String>>,
    prompt: Option<Spanned<String>>,
    tool: Option<Spanned<String>>,
    arguments: Option<Spanned<Map<String, Value>>>,
}

/// The default parameter type is text.
fn text() -> ParameterType {
    ParameterType::String
}

pub(super) fn workflow(
    source: &YamlSource,
    raw: RawWorkflow,
    path: &str,
    hash: ContentHash,
) -> Result<Workflow, DocumentError> {
    if raw.steps.value.is_empty() {
        return refuse(
            source,
            raw.steps.referenced,
            "a workflow needs at least one step",
            "add `- prompt: …`",
        );
    }
    let parameters = checked_parameters(source, raw.parameters)?;
    let steps = checked_steps(source, raw.steps.value, &parameters)?;
    let output = raw.output.as_ref();
    if let Some(output) = output {
        let known = TemplateScope { parameters: &parameters, steps: &steps, later: &[] };
        check(source, output.referenced, &output.value, &known)?;
    }
    Ok(Workflow {
        name: checked_name(source, raw.name)?,
        description: checked_description(source, &raw.description)?,
        parameters,
        steps,
        output: output.map(|output| output.value.clone()),
        trust: raw.trust,
        settings: ConfiguredSettings {
            session_instructions: raw.session_instructions,
            cwd: raw.cwd,
            context: raw.context,
        },
        path: path.to_owned(),
        hash,
    })
}

fn checked_parameters(
    source: &YamlSource,
    raw: Vec<RawParameter>,
) -> Result<Vec<WorkflowParameter>, DocumentError> {
    let mut names = BTreeSet::new();
    let mut parameters = Vec::with_capacity(raw.len());
    for parameter in raw {
        let place = parameter.name.referenced;
        let parameter = checked_parameter(source, parameter)?;
        let name = &parameter.name;
        if RESERVED_NAMES.contains(&name.as_str()) || ["steps", "previous"].contains(&name.as_str()) {
            let message = format!("`{name}` is reserved in templates and cannot be a parameter name");
            return refuse(source, place, &message, "give it another name");
        }
        if !names.insert(name.clone()) {
            let message = format!("duplicate parameter `{name}`");
            return refuse(source, place, &message, "rename or remove one of them");
        }
        parameters.push(parameter);
    }
    Ok(parameters)
}

/// Validates the steps. Each may use the parameters and the earlier steps.
fn checked_steps(
    source: &YamlSource,
    raw: Vec<Spanned<RawStep>>,
    parameters: &[WorkflowParameter],
) -> Result<Vec<WorkflowStep>, DocumentError> {
    let later: Vec<String> = (1..)
        .zip(&raw)
        .map(|(number, step)| {
            step.value.name.as_ref().map_or_else(|| format!("step-{number}"), |name| name.value.clone())
        })
        .collect();
    let mut steps: Vec<WorkflowStep> = Vec::with_capacity(raw.len());
    for (index, mut step) in raw.into_iter().enumerate() {
        let (place, given) = (step.referenced, step.value.name.take());
        let at = given.as_ref().map_or(place, |name| name.referenced);
        let name = match given {
            Some(name) => checked_name(source, name)?,
            None => format!("step-{}", index + 1),
        };
        if steps.iter().any(|before| before.name == name) {
            return refuse(source, at, &format!("two steps are called `{name}`"), "rename one of them");
        }
        let known =
            TemplateScope { parameters, steps: &steps, later: later.get(index..).unwrap_or_default() };
        let action = checked_step(source, step, &known)?;
        steps.push(WorkflowStep { name, action });
    }
    Ok(steps)
}

/// The problem `message` at the step with this number of the file `text`.
pub(super) fn at_step(
    path: &str,
    text: Arc<str>,
    index: usize,
    message: String,
    help: String,
) -> DocumentError {
    let source = YamlSource::whole(path, text);
    let place = source.parse::<RawWorkflow>().ok().and_then(|raw| {
        let step = raw.steps.value.get(index)?;
        Some(step.value.tool.as_ref().map_or(step.referenced, |tool| tool.referenced))
    });
    source.problem(place.unwrap_or(Location::UNKNOWN), message, Some(help))
}

/// The problem that another file already has this name.
pub(super) fn name_is_taken(path: &str, text: Arc<str>, name: &str, taken_by: &str) -> DocumentError {
    #[derive(Deserialize)]
    struct OnlyName {
        name: Spanned<String>,
    }
    let source = YamlSource::whole(path, text);
    let location = source.parse::<OnlyName>().map_or(Location::UNKNOWN, |raw| raw.name.referenced);
    let message = format!("the name `{name}` is taken by `{taken_by}`");
    source.problem(location, message, Some("give one of the two another name".to_owned()))
}

fn checked_name(source: &YamlSource, name: Spanned<String>) -> Result<String, DocumentError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let length = name.value.chars().count();
    if length == 0 || length > MAX_NAME_CHARS || !name.value.chars().all(is_plain) {
        let message = format!(
            "`name` must be 1 to {MAX_NAME_CHARS} of the characters `a-z`, `A-Z`, `0-9`, `-` and `_`"
        );
        return refuse(source, name.referenced, &message, "write it like `daily-report`");
    }
    Ok(name.value)
}

fn checked_description(source: &YamlSource, written: &Spanned<String>) -> Result<String, DocumentError> {
    let description = written.value.trim();
    let length = description.chars().count();
    if description.is_empty() {
        refuse(source, written.referenced, "`description` is empty", "say in one line what it is for")
    } else if description.chars().any(char::is_control) {
        refuse(source, written.referenced, "`description` must be a single line", "say the rest in a step")
    } else if length > MAX_DESCRIPTION_CHARS {
        let message =
            format!("`description` has {length} characters, at most {MAX_DESCRIPTION_CHARS} are allowed");
        refuse(source, written.referenced, &message, "say the rest in a step")
    } else {
        Ok(description.to_owned())
    }
}

fn checked_parameter(source: &YamlSource, raw: RawParameter) -> Result<WorkflowParameter, DocumentError> {
    let required = raw.required.as_ref().is_some_and(|required| required.value);
    let default = match raw.default {
        Some(default) if required => {
            let message =
                format!("the parameter `{}` is required, so its default is never used", raw.name.value);
            return refuse(source, default.referenced, &message, "remove `default`, or `required: true`");
        }
        Some(default) if !raw.kind.accepts(&default.value) => {
            let kind = raw.kind.as_str();
            let message = format!("the default of `{}` is not of type `{kind}`", raw.name.value);
            let help = format!("write a value of type `{kind}`, or change `type`");
            return refuse(source, default.referenced, &message, &help);
        }
        default => default.map(|default| default.value),
    };
    let description = match &raw.description {
        Some(description) => checked_description(source, description)?,
        None => String::new(),
    };
    let name = checked_name(source, raw.name)?;
    Ok(WorkflowParameter { name, kind: raw.kind, description, required, default })
}

fn checked_step(
    source: &YamlSource,
    step: Spanned<RawStep>,
    known: &TemplateScope<'_>,
) -> Result<StepAction, DocumentError> {
    let either = "give each step either `prompt: …`, or `tool: …` with `arguments`";
    match (step.value.prompt, step.value.tool, step.value.arguments) {
        (Some(prompt), None, None) if prompt.value.trim().is_empty() => {
            refuse(source, prompt.referenced, "`prompt` is empty", "say what the model is to do")
        }
        (Some(prompt), None, None) => {
            check(source, prompt.referenced, &prompt.value, known)?;
            Ok(StepAction::Prompt(prompt.value))
        }
        (None, Some(tool), _) if tool.value.trim().is_empty() => {
            refuse(source, tool.referenced, "`tool` is empty", "name the tool to call")
        }
        (None, Some(tool), arguments) => {
            let place = arguments.as_ref().map_or(tool.referenced, |arguments| arguments.referenced);
            let arguments = arguments.map(|arguments| arguments.value).unwrap_or_default();
            for text in arguments.values().flat_map(texts) {
                check(source, place, text, known)?;
            }
            Ok(StepAction::Tool { name: tool.value, arguments })
        }
        (Some(_), Some(tool), _) => {
            refuse(source, tool.referenced, "a step has both `prompt` and `tool`", either)
        }
        (_, None, Some(arguments)) => {
            refuse(source, arguments.referenced, "`arguments` without a `tool`", either)
        }
        (None, None, None) => {
            refuse(source, step.referenced, "a step has neither `prompt` nor `tool`", either)
        }
    }
}

/// All strings in a value, at any depth.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

fn refuse<T>(source: &YamlSource, at: Location, message: &str, help: &str) -> Result<T, DocumentError> {
    Err(source.problem(at, message.to_owned(), Some(help.to_owned())))
}
