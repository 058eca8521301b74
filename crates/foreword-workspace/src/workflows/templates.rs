//! The templates in a workflow: checked where they stand when the file is read, and filled in when a step is done. Each
//! sees the parameters by name, what the steps before it gave as `steps.NAME.output`, and the last of these as `previous`.

use std::sync::Arc;

use foreword_prompt::diagnostic::{TemplateError, did_you_mean, position_of};
use foreword_prompt::jinja::{Limits, RESERVED_NAMES, RenderContext, compile, names_used};
use serde_json::{Map, Value, json};
use serde_saphyr::Location;

use super::{WorkflowParameter, WorkflowStep};
use crate::document::{DocumentError, YamlSource};

/// What a template may call; it is not asked of the context.
const FUNCTIONS: [&str; 3] = ["dict", "namespace", "range"];

/// What is known where a template stands.
pub(super) struct Known<'a> {
    pub(super) parameters: &'a [WorkflowParameter],
    /// The steps before it.
    pub(super) steps: &'a [WorkflowStep],
    /// The names of the step it stands in and those behind.
    pub(super) later: &'a [String],
}

/// Whether there is anything in `text` to be filled in.
pub(super) fn is_template(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|sign| text.contains(sign))
}

/// Makes sure that the template `text`, which stands at `place`, can be filled in.
pub(super) fn check(
    source: &YamlSource,
    (place, text): (Location, &str),
    known: &Known<'_>,
) -> Result<(), DocumentError> {
    if !is_template(text) {
        return Ok(());
    }
    let written: Arc<str> = text.into();
    let names = compile(TEMPLATE, Arc::clone(&written), &no_files, &Limits::default())
        .and_then(|_| names_used(TEMPLATE, &written));
    let names = names.map_err(|error| {
        let help = error.help.clone().or_else(|| Some("correct the template at the marked place".to_owned()));
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

/// What a template is called where its file is named already.
const TEMPLATE: &str = "template";

fn no_files(_: &str) -> Result<Option<Arc<str>>, String> {
    Ok(None)
}

/// The same problem, pointing at `piece` if it is written at the place or behind it, `skip` characters into it.
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

impl Known<'_> {
    /// Whether `name`, as a template asks for it, is known; else what is wrong and what to do.
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
                "there is no step before this one, so nothing is `previous`".to_owned(),
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
            let message = format!("step `{step}` has not run yet when this template is filled in");
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

/// Whether a template means the step `name` by `word`: a `-` can't stand in a plain name, so `_` does as well.
fn is_called(name: &str, word: &str) -> bool {
    name == word || name.replace('-', "_") == word
}

/// What the templates of a run are filled in with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepValues {
    parameters: Map<String, Value>,
    steps: Map<String, Value>,
    previous: Option<String>,
}

impl StepValues {
    /// What the first step sees: the parameters, with null for those that are not given and have no default.
    #[must_use]
    pub fn new(declared: &[WorkflowParameter], mut given: Map<String, Value>) -> Self {
        for parameter in declared {
            given.entry(parameter.name.clone()).or_insert(Value::Null);
        }
        Self { parameters: given, ..Self::default() }
    }

    /// What the next step sees besides: what the step `name` gave.
    pub fn add(&mut self, name: &str, output: &str) {
        for name in [name.to_owned(), name.replace('-', "_")] {
            self.steps.insert(name, json!({ "output": output }));
        }
        self.previous = Some(output.to_owned());
    }

    /// `template` filled in, for the agent called `agent`.
    ///
    /// ```
    /// use foreword_workspace::workflows::StepValues;
    /// let mut values = StepValues::default();
    /// values.add("fetch", "rain");
    /// assert_eq!(values.fill("Say {{ steps.fetch.output | upper }}, {{ previous }}.", "Ada").unwrap(), "Say RAIN, rain.");
    /// ```
    ///
    /// # Errors
    /// If it can't be filled in.
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

    /// The arguments of a tool with every text in them filled in. A text that is nothing but one parameter is that
    /// parameter, whatever its kind.
    ///
    /// # Errors
    /// If one of them can't be filled in.
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
