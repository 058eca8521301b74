//! Workflows: `workflows/*.yaml`, each with a name, a description, parameters and steps. Every [`Workflow`] is valid,
//! its templates included; an invalid file is reported with line and caret and skipped. Does not run steps.

mod cycles;
mod missing_references;
mod parameters;
mod templates;
mod validate;

use foreword_core::workflow::PlannedStep;
use foreword_prompt::trust::Trust;
use serde_json::{Map, Value};

pub(crate) use self::missing_references::missing_references;
pub use self::parameters::{BadParameters, fit, parse_arguments};
pub use self::templates::StepValues;

use crate::config::ConfiguredSettings;
use crate::document::YamlSource;
use crate::error::WorkspaceError;
use crate::loaded::Loaded;
use crate::path_trust::Access;
use crate::roots::Root;
use crate::snapshot::Snapshot;
use crate::text_pool::FileCache;
use foreword_prompt::text::ContentHash;

/// A workflow: a sequence of steps an agent can run.
#[derive(Debug, Clone, PartialEq)]
pub struct Workflow {
    /// Its name, unique in the workspace.
    pub name: String,
    /// Its purpose in one line.
    pub description: String,
    /// Its parameters in the order of the file.
    pub parameters: Vec<WorkflowParameter>,
    /// Its steps in order; at least one.
    pub steps: Vec<WorkflowStep>,
    /// The template of its result. Default: the output of its last step.
    pub output: Option<String>,
    /// The minimum trust to see and run it, if the file states one.
    pub trust: Option<Trust>,
    /// The settings of its conversation.
    pub settings: ConfiguredSettings,
    /// The path of its file below the workspace.
    pub path: String,
    /// The hash of its file.
    pub hash: ContentHash,
}

/// A parameter of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowParameter {
    /// Its name, unique in the workflow.
    pub name: String,
    /// Its type.
    pub kind: ParameterType,
    /// Its purpose in one line; may be empty.
    pub description: String,
    /// Whether it must be given.
    pub required: bool,
    /// Its default, of the right type; never with `required`.
    pub default: Option<Value>,
}

/// The type of a parameter, named as in JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ParameterType {
    /// Text.
    String,
    /// Any number.
    Number,
    /// A whole number.
    Integer,
    /// `true` or `false`.
    Boolean,
    /// A list.
    Array,
    /// A mapping.
    Object,
}

impl ParameterType {
    /// Its name in a workflow file and in JSON Schema.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// Whether `value` has this type.
    #[must_use]
    pub fn accepts(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Number => value.is_number(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Boolean => value.is_boolean(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }
}

/// One step of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowStep {
    /// Its name, unique in the workflow. Default: `step-1`, `step-2` and so on.
    pub name: String,
    /// What is done.
    pub action: StepAction,
}

/// The action of a step. Its texts are templates.
#[derive(Debug, Clone, PartialEq)]
pub enum StepAction {
    /// Send this message to the model.
    Prompt(String),
    /// Call this tool.
    Tool {
        /// The tool's name.
        name: String,
        /// The arguments.
        arguments: Map<String, Value>,
    },
}

/// The tool that runs a workflow.
const RUNS_WORKFLOWS: &str = "workflow_run";

impl WorkflowStep {
    /// The workflow that this step runs, if its name is constant.
    pub(crate) fn runs(&self) -> Option<&str> {
        let StepAction::Tool { name, arguments } = &self.action else { return None };
        let named = arguments.get("name").and_then(Value::as_str).filter(|_| name == RUNS_WORKFLOWS)?;
        (!templates::is_template(named)).then_some(named)
    }

    fn planned(&self) -> PlannedStep {
        let definition = match &self.action {
            StepAction::Prompt(text) => ContentHash::of_parts(["prompt", text]),
            StepAction::Tool { name, arguments } => {
                ContentHash::of_parts(["tool", name, &Value::Object(arguments.clone()).to_string()])
            }
        };
        PlannedStep { name: self.name.clone(), definition }
    }
}

impl Workflow {
    /// Parses a workflow file.
    ///
    /// ```
    /// use foreword_workspace::workflows::{StepAction, Workflow};
    /// let yaml = "name: greet\ndescription: Says hello.\nsteps:\n  - prompt: Say hello.\n";
    /// let workflow = Workflow::parse("workflows/greet.yaml", yaml.into()).unwrap();
    /// assert_eq!(workflow.steps[0].name, "step-1");
    /// assert_eq!(workflow.steps[0].action, StepAction::Prompt("Say hello.".to_owned()));
    /// ```
    ///
    /// # Errors
    /// [`WorkspaceError::Document`] with the line, the reason and a hint.
    pub fn parse(path: &str, text: std::sync::Arc<str>) -> Result<Self, WorkspaceError> {
        let hash = ContentHash::of(&text);
        let source = YamlSource::whole(path, text);
        let raw = source.parse()?;
        Ok(validate::workflow(&source, raw, path, hash)?)
    }

    /// Its steps in the form a run uses.
    #[must_use]
    pub fn planned(&self) -> Vec<PlannedStep> {
        self.steps.iter().map(WorkflowStep::planned).collect()
    }

    /// Its parameters in one line: `topic, limit?`.
    #[must_use]
    pub fn signature(&self) -> Vec<String> {
        let one = |one: &WorkflowParameter| {
            if one.required { one.name.clone() } else { format!("{}?", one.name) }
        };
        self.parameters.iter().map(one).collect()
    }

    /// Whether `user` with `trust` may see and run it: by its own `trust`, and by the rules for its file, written and
    /// resolved path.
    #[must_use]
    pub fn is_for(&self, snapshot: &Snapshot, user: Option<&str>, trust: Trust) -> bool {
        // A file restricted by any agent's rules is restricted for all agents.
        let permits =
            |path: &str| snapshot.required_trust(path, user, Access::Text).permits(trust, Trust::Public);
        self.trust.is_none_or(|needed| trust.permits(needed))
            && permits(&self.path)
            && snapshot.files().root.locate(&self.path).is_ok_and(|real| permits(&real))
    }
}

/// The workflows of the workspace by name. If two files define the same name, the first by file name wins.
#[must_use]
pub fn load_workflows(root: &Root, cache: &FileCache) -> Loaded<Workflow> {
    let mut loaded = Loaded::<Workflow>::default();
    let mut files = Vec::new();
    for extension in ["yaml", "yml"] {
        match root.list("workflows", extension) {
            Ok(names) => files.extend(names),
            // Both listings fail for the same reason; it is reported once.
            Err(problem) => return Loaded { problems: vec![problem], ..Loaded::default() },
        }
    }
    files.sort_unstable();
    for file in files {
        let path = format!("workflows/{file}");
        loaded.push(cache.read(root, &path).and_then(|file| Workflow::parse(&path, file.text)));
    }
    refuse_same_names(root, cache, &mut loaded);
    cycles::refuse(root, cache, &mut loaded);
    loaded
}

/// Sorts by name and reports later workflows with a duplicate name as problems.
fn refuse_same_names(root: &Root, cache: &FileCache, loaded: &mut Loaded<Workflow>) {
    loaded.items.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.path.cmp(&b.path)));
    let mut kept: Vec<Workflow> = Vec::with_capacity(loaded.items.len());
    for workflow in std::mem::take(&mut loaded.items) {
        match kept.last().filter(|previous| previous.name == workflow.name) {
            None => kept.push(workflow),
            Some(first) => match cache.read(root, &workflow.path) {
                Ok(file) => loaded.problems.push(
                    validate::name_is_taken(&workflow.path, file.text, &workflow.name, &first.path).into(),
                ),
                Err(problem) => loaded.problems.push(problem),
            },
        }
    }
    loaded.items = kept;
}
