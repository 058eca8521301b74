//! Templates in workflows: checked when the file is loaded, and rendered when a step runs. A template sees the
//! parameters by name, the output of earlier steps as `steps.NAME.output`, and the last output as `previous`.

use std::sync::Arc;

use foreword_prompt::diagnostic::{TemplateError, did_you_mean, position_of};
use foreword_prompt::jinja::{Limits, RESERVED_NAMES, RenderContext, compile, names_used};
use serde_json::{Map, Value, json};
use serde_saphyr::Location;

use super::{WorkflowParameter, WorkflowStep};
use crate::document::{DocumentError, YamlSource};

/// Built-in functions of templates, which are not part of the context.
const FUNCTIONS: [&str; 3] = ["dict", "namespace", "range"];

/// The names a template can use at its position.
pub(super) struct TemplateScope<'a> {
    pub(super) parameters: &'a [WorkflowParameter],
    /// The earlier steps.
    pub(super) steps: &'a [WorkflowStep],
    /// The names of the current and the later steps.
    pub(super) later: &'a [String],
}

/// Whether `text` contains template syntax.
pub(super) fn is_template(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|sign| text.contains(sign))
}

/// Checks the template `text` at `place`.
pub(super) fn check(
    source: &YamlSource,
    place: Location,
    text: &str,
    known: &TemplateScope<'_>,
) -> Result<(), DocumentError> {
    if !is_template(text) {
        return Ok(());
    }
    let written: Arc<str> = text.into();
    let names = compile(TEMPLATE, Arc::clone(&written), &no_files, &Limits::default())
        .and_then(|_| names_used(TEMPLATE, &written));
    let names = names.map_err(|error| {
        let help =
            error.help.clone().or_else(|| Some("correct the template at the marked position".to_owned()));
        let line = error.text.lines().nth(error.at.line.saturating_sub(1)).unwrap_or_default();
        let problem = source.problem(place, error.message.clone(), help);
        let indent = line.chars().count() - line.trim_start().chars().count();
        narrowed(problem, line.trim(), error.at.column.saturating_sub(1).saturating_sub(indent))
    })?;
    for name in names {
        if let Err((message, help)) = known.check(&name) {
            let problem = source.problem(place, message, Some(help));
            let root = name.split('.').next().unwrap_or(&name);
            let whole = narrowed(problem.clone(), &name, 0);
            return Err(if whole == problem { narrowed(problem, root, 0) } else { whole });
        }
    }
    Ok(())
}

/// The name of a template in messages that already name its file.
const TEMPLATE: &str = "template";

fn no_files(_: &str) -> Result<Option<Arc<str>>, String> {
    Ok(None)
}

/// The same problem, pointing at `piece` if it occurs at or after its position, plus `skip` characters.
fn narrowed(mut problem: DocumentError, piece: &str, skip: usize) -> DocumentError {
    let from = problem.span.start;
    let found = problem.text.get(from..).and_then(|rest| rest.find(piece)).filter(|_| !piece.is_empty());
    if let Some(found) = found {
        let start = from + found;
        let inner = piece.char_indices().nth(skip).map_or(0, |(at, _)| at);
        problem.span = start + inner..start + piece.len();
        problem.at = position_of(&problem.text, start + inner);
    }
    problem
}

impl TemplateScope<'_> {
    /// Checks that a template may use `name`; otherwise returns a message and a hint.
    fn check(&self, name: &str) -> Result<(), (String, String)> {
        let mut parts = name.split('.');
        let root = parts.next().unwrap_or_default();
        if RESERVED_NAMES.contains(&root) || FUNCTIONS.contains(&root) {
            return Ok(());
        }
        match root {
            "steps" => match parts.next() {
                Some(step) => self.check_step(step),
                None => Ok(()),
            },
            "previous" if self.steps.is_empty() => Err((
                "`previous` is not defined in the first step".to_owned(),
                "use it from the second step on".to_owned(),
            )),
            "previous" => Ok(()),
            _ if self.parameters.iter().any(|parameter| parameter.name == root) => Ok(()),
            _ => {
                let names = self.parameters.iter().map(|parameter| parameter.name.as_str());
                let near = did_you_mean(root, names.chain(["steps", "previous"]));
                let help = near.map_or_else(
                    || format!("add `{root}` to `parameters`"),
                    |near| format!("did you mean `{near}`? If not, add `{root}` to `parameters`"),
                );
                Err((format!("there is no parameter `{root}`"), help))
            }
        }
    }

    fn check_step(&self, step: &str) -> Result<(), (String, String)> {
        if self.steps.iter().any(|before| is_called(&before.name, step)) {
            return Ok(());
        }
        if self.later.iter().any(|later| is_called(later, step)) {
            let message = format!("step `{step}` has not run yet when this template is rendered");
            return Err((message, "refer to a step above this one".to_owned()));
        }
        let names = || self.steps.iter().map(|step| step.name.as_str());
        let help = match did_you_mean(step, names()) {
            Some(near) => format!("did you mean `steps.{near}`?"),
            None if self.steps.is_empty() => "no step comes before this one".to_owned(),
            None => format!("the steps before this one are `{}`", names().collect::<Vec<_>>().join("`, `")),
        };
        Err((format!("there is no step `{step}`"), help))
    }
}

/// Whether `word` in a template refers to the step `name`. A template name cannot contain `-`, so `_` matches it.
fn is_called(name: &str, word: &str) -> bool {
    name == word || name.replace('-', "_") == word
}

/// The values that the templates of a run are rendered with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepValues {
    parameters: Map<String, Value>,
    steps: Map<String, Value>,
    previous: Option<String>,
}

impl StepValues {
    /// The values for the first step: the parameters, with null for those without a value and default.
    #[must_use]
    pub fn new(declared: &[WorkflowParameter], mut given: Map<String, Value>) -> Self {
        for parameter in declared {
            given.entry(parameter.name.clone()).or_insert(Value::Null);
        }
        Self { parameters: given, ..Self::default() }
    }

    /// Adds the output of the step `name`.
    pub fn add(&mut self, name: &str, output: &str) {
        for name in [name.to_owned(), name.replace('-', "_")] {
            self.steps.insert(name, json!({ "output": output }));
        }
        self.previous = Some(output.to_owned());
    }

    /// Renders `template`, for the agent called `agent`.
    ///
    /// ```
    /// use foreword_workspace::workflows::StepValues;
    /// let mut values = StepValues::default();
    /// values.add("fetch", "rain");
    /// assert_eq!(values.fill("Say {{ steps.fetch.output | upper }}, {{ previous }}.", "Ada").unwrap(), "Say RAIN, rain.");
    /// ```
    ///
    /// # Errors
    /// If it cannot be rendered.
    pub fn fill(&self, template: &str, agent: &str) -> Result<String, TemplateError> {
        if !is_template(template) {
            return Ok(template.to_owned());
        }
        let compiled = compile(TEMPLATE, template.into(), &no_files, &Limits::default())?;
        let mut context = self.parameters.clone();
        context.insert("steps".to_owned(), Value::Object(self.steps.clone()));
        if let Some(previous) = &self.previous {
            context.insert("previous".to_owned(), Value::String(previous.clone()));
        }
        compiled.render(&RenderContext::from_serialize(&context, agent, "Workflow"))
    }

    /// Renders every text in a tool's arguments. A text that consists of one parameter keeps the parameter's type.
    ///
    /// # Errors
    /// If a text cannot be rendered.
    pub fn fill_arguments(
        &self,
        arguments: &Map<String, Value>,
        agent: &str,
    ) -> Result<Map<String, Value>, TemplateError> {
        let filled = |(name, value): (&String, &Value)| Ok((name.clone(), self.filled(value, agent)?));
        arguments.iter().map(filled).collect()
    }

    fn filled(&self, value: &Value, agent: &str) -> Result<Value, TemplateError> {
        Ok(match value {
            Value::String(text) => match self.lone_parameter(text) {
                Some(value) => value.clone(),
                None => Value::String(self.fill(text, agent)?),
            },
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.filled(item, agent)).collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => Value::Object(self.fill_arguments(fields, agent)?),
            other => other.clone(),
        })
    }

    fn lone_parameter(&self, text: &str) -> Option<&Value> {
        let name = text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim();
        self.parameters.get(name)
    }
}
