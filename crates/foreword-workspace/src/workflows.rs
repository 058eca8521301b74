//! Workflows: `workflows/*.yaml`, each a name, a description, parameters and steps. A [`Workflow`] that exists is
//! valid, its templates included; a bad file is reported with line and caret and left out. Runs no step.

mod circles;
mod loose_ends;
mod parameters;
mod templates;
mod validate;

use foreword_core::workflow::PlannedStep;
use foreword_prompt::trust::Trust;
use serde_json::{Map, Value};

pub(crate) use self::loose_ends::loose_ends;
pub use self::parameters::{BadParameters, fit, from_words};
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

/// Something an agent can be asked to do step by step.
#[derive(Debug, Clone, PartialEq)]
pub struct Workflow {
    /// Its name, unique in the workspace.
    pub name: String,
    /// What it is for, in one line.
    pub description: String,
    /// What it is given, in the order of the file.
    pub parameters: Vec<WorkflowParameter>,
    /// What is done, in order; at least one step.
    pub steps: Vec<WorkflowStep>,
    /// What it gives in the end, as a template. Default: what its last step gives.
    pub output: Option<String>,
    /// The least trust at which it is seen and run, where the file says so.
    pub trust: Option<Trust>,
    /// The settings of the conversation it runs in.
    pub settings: ConfiguredSettings,
    /// The path of its file below the workspace.
    pub path: String,
    /// The hash of its file.
    pub hash: ContentHash,
}

/// Something a workflow is given.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowParameter {
    /// Its name, unique in the workflow.
    pub name: String,
    /// What kind of value it takes.
    pub kind: ParameterKind,
    /// What it is for, in one line; may be empty.
    pub description: String,
    /// Whether the workflow can't run without it.
    pub required: bool,
    /// What it is when nobody gives it; of its kind, and never with `required`.
    pub default: Option<Value>,
}

/// The kinds of values, called as in JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ParameterKind {
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

impl ParameterKind {
    /// The word for it in a workflow file and in JSON Schema.
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

    /// Whether `value` is of this kind.
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

/// What a step does. Its texts are templates.
#[derive(Debug, Clone, PartialEq)]
pub enum StepAction {
    /// Say this to the model.
    Prompt(String),
    /// Call this tool.
    Tool {
        /// The tool's name.
        name: String,
        /// What it is called with.
        arguments: Map<String, Value>,
    },
}

/// The tool that runs a workflow.
const RUNS_WORKFLOWS: &str = "workflow_run";

impl WorkflowStep {
    /// The workflow this step runs, if it runs one that can be told without running it.
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
    /// Reads the workflow that `text` describes.
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
    /// [`WorkspaceError::Document`] with the line, the reason and what to do.
    pub fn parse(path: &str, text: std::sync::Arc<str>) -> Result<Self, WorkspaceError> {
        let hash = ContentHash::of(&text);
        let source = YamlSource::whole(path, text);
        let raw = source.parse()?;
        Ok(validate::workflow(&source, raw, path, hash)?)
    }

    /// Its steps as a run looks at them.
    #[must_use]
    pub fn planned(&self) -> Vec<PlannedStep> {
        self.steps.iter().map(WorkflowStep::planned).collect()
    }

    /// Its parameters as they are said in one line: `topic, limit?`.
    #[must_use]
    pub fn signature(&self) -> Vec<String> {
        let one = |one: &WorkflowParameter| {
            if one.required { one.name.clone() } else { format!("{}?", one.name) }
        };
        self.parameters.iter().map(one).collect()
    }

    /// Whether `user` with `trust` may see it and run it: by its own word, and by the rules for its file, the written one
    /// and the one it leads to.
    #[must_use]
    pub fn is_for(&self, snapshot: &Snapshot, user: Option<&str>, trust: Trust) -> bool {
        // What any agent's rules keep closed, no other agent opens.
        let permits = |path: &str| snapshot.needed(path, user, Access::Text).permits(trust, Trust::Public);
        self.trust.is_none_or(|needed| trust.permits(needed))
            && permits(&self.path)
            && snapshot.files().root.locate(&self.path).is_ok_and(|real| permits(&real))
    }
}

/// The workflows of the workspace, by name. When two files give the same name, the first by file name has it.
#[must_use]
pub fn load_workflows(root: &Root, cache: &FileCache) -> Loaded<Workflow> {
    let mut loaded = Loaded::<Workflow>::default();
    let mut files = Vec::new();
    for extension in ["yaml", "yml"] {
        match root.list("workflows", extension) {
            Ok(names) => files.extend(names),
            // Both listings fail for the same reason; it is told once.
            Err(problem) => return Loaded { problems: vec![problem], ..Loaded::default() },
        }
    }
    files.sort_unstable();
    for file in files {
        let path = format!("workflows/{file}");
        loaded.push(cache.read(root, &path).and_then(|file| Workflow::parse(&path, file.text)));
    }
    refuse_same_names(root, cache, &mut loaded);
    circles::refuse(root, cache, &mut loaded);
    loaded
}

/// Sorts by name and moves later workflows of a name that is taken to the problems.
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
