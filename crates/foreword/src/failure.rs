//! Why a command failed, and its exit code.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use foreword_agent::background::workflows::WorkflowError;
use foreword_agent::error::AgentError;
use foreword_core::failure::{OwnerOnly, OwnerProof};
use foreword_core::workflow::CannotResume;
use foreword_prompt::diagnostic::excerpt;
use foreword_prompt::layer_update::Refused;
use foreword_store::error::StoreError;
use foreword_workspace::document::DocumentError;
use foreword_workspace::error::WorkspaceError;
use serde_json::{Value, json};

#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is invalid.
    Usage { message: String, help: String },
    /// The configuration, a template or a file it names is invalid.
    Refused(WorkspaceError),
    /// A store operation failed.
    Store(StoreError),
    /// A document has several problems.
    Problems(Vec<DocumentError>),
    /// Any other failure.
    Failed { message: String, help: String },
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), help: help.into() }
    }

    pub(crate) fn failed(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), help: help.into() }
    }

    /// Clap's message and tip, without the layout for terminals.
    pub(crate) fn of_command_line(error: &clap::Error) -> Self {
        if error.kind() == ErrorKind::MissingSubcommand {
            return Self::usage("no command given", "see `foreword --help`");
        }
        let text = error.render().to_string();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut paragraphs = text.split("\n\n").map(words);
        let message = paragraphs.next().unwrap_or_default();
        let tip = paragraphs.find_map(|words| words.strip_prefix("tip: ").map(str::to_owned));
        let help = tip.unwrap_or_else(|| "see `foreword --help`".to_owned());
        Self::usage(message.strip_prefix("error: ").unwrap_or(&message), help)
    }

    pub(crate) fn io(what: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::failed(
            format!("can't {what} `{}`: {error}", path.display()),
            "check the path and its permissions",
        )
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Failed { .. } | Self::Store(_) => ExitCode::from(1),
            Self::Usage { .. } => ExitCode::from(2),
            Self::Refused(_) | Self::Problems(_) => ExitCode::from(3),
        }
    }

    /// All problems: an invalid configuration can have several.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        match self {
            Self::Usage { message, help } => vec![Problem::plain("usage", message, Some(help))],
            Self::Failed { message, help } => vec![Problem::plain("failed", message, Some(help))],
            Self::Store(error) => {
                vec![Problem::plain("storage", &error.to_string(), Some(&store_error_help(error).to_owned()))]
            }
            Self::Refused(WorkspaceError::Config(problems)) | Self::Problems(problems) => {
                problems.iter().map(Problem::of_document).collect()
            }
            Self::Refused(error) => vec![Problem::of(error)],
        }
    }
}

/// The help for a store error, in terms of `foreword` commands.
fn store_error_help(error: &StoreError) -> &'static str {
    match error {
        StoreError::NotFound { what: "template version", .. } => "see `foreword template history`",
        StoreError::NotFound { what: "layer version", .. } => "see `foreword layers history`",
        StoreError::LayerRefused(Refused::Unknown { .. } | Refused::Immutable { .. }) => {
            "see `foreword layers list`"
        }
        StoreError::NotFound { what: "run", .. } => "see `foreword workflows runs`",
        StoreError::Exists { .. } => "name another file, or add --force",
        other => other.help(),
    }
}

/// The cause of a failure. It is always shown at a terminal: its user can read the workspace's files and store anyway.
pub(crate) fn at_terminal(cause: &OwnerOnly<String>) -> &str {
    cause.reveal(OwnerProof::at_terminal())
}

impl From<AgentError> for Failure {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Store(error) => Self::Store(error),
            AgentError::Workspace(error) => Self::Refused(error),
            AgentError::Workflow(error @ WorkflowError::Parameters(_)) => {
                Self::usage(error.to_string(), "see `foreword workflows show NAME`")
            }
            AgentError::Workflow(error) => {
                let help = workflow_error_help(&error);
                Self::failed(error.to_string(), help)
            }
            AgentError::Settings(error) => Self::usage(error.to_string(), error.help_for_owner()),
            AgentError::EmptyMessage => Self::usage(error.to_string(), "write a message"),
            other => {
                let help = match &other {
                    AgentError::TooLong { .. } => {
                        "put the text in a file of the workspace and ask the agent to read it"
                    }
                    AgentError::NothingToCompact(_) => "send a message first",
                    AgentError::Busy(_) => "Ctrl-C stops it",
                    AgentError::NoSummary(_) => "nothing has changed; try again later",
                    AgentError::AgentGone { .. }
                    | AgentError::OtherAgent { .. }
                    | AgentError::OneAgent
                    | AgentError::SameAgent { .. } => "see `foreword agents`",
                    AgentError::ProxiedConversation(_) => "start a new one: omit `--conversation`",
                    AgentError::NotTrusted { .. } => "ask the owner to do it",
                    AgentError::Model(_) => "check `agent.model` and `providers` in foreword.yaml",
                    _ => "see `foreword chat --help`",
                };
                Self::failed(at_terminal(&other.cause()), help)
            }
        }
    }
}

fn workflow_error_help(error: &WorkflowError) -> String {
    match error {
        WorkflowError::Resume(CannotResume::InDoubt(_)) => {
            "`foreword workflows status RUN` shows it; then resume with --redo or --skip".to_owned()
        }
        WorkflowError::FileChanged { .. } => "add --force to resume anyway, or start a new run".to_owned(),
        WorkflowError::UnderWay { .. } => "wait until it ends, or until its node's lease expires".to_owned(),
        WorkflowError::Unknown { .. } | WorkflowError::Parameters(_) | WorkflowError::Chain(_) => {
            "see `foreword workflows`".to_owned()
        }
        WorkflowError::Resume(CannotResume::NothingToSkip) => "omit --skip".to_owned(),
        WorkflowError::HasEnded(run) => format!("see `foreword workflows status {run}`"),
        WorkflowError::Unreadable(_) => "start a new run".to_owned(),
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<WorkspaceError> for Failure {
    fn from(error: WorkspaceError) -> Self {
        Self::Refused(error)
    }
}

/// A problem to print, as text or JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    pub(crate) place: Option<(String, usize, usize)>,
    /// The line with a caret.
    pub(crate) excerpt: Option<String>,
}

impl Problem {
    pub(crate) fn plain(code: &'static str, message: &str, help: Option<&String>) -> Self {
        Self { code, message: message.to_owned(), help: help.cloned(), place: None, excerpt: None }
    }

    pub(crate) fn of(error: &WorkspaceError) -> Self {
        match error {
            WorkspaceError::Template(template) => Self {
                code: "template",
                message: template.message.clone(),
                help: template.help.clone().or_else(|| default_help(&template.file)),
                place: Some((template.file.to_string(), template.at.line, template.at.column)),
                excerpt: Some(excerpt(
                    &template.text,
                    template.at,
                    template.span.clone().unwrap_or_default(),
                )),
            },
            WorkspaceError::Document(document) => Self::of_document(document),
            WorkspaceError::Resolution(_) => {
                Self::plain("resolution", &error.to_string(), error.help().as_ref())
            }
            WorkspaceError::Access(_) => Self::plain("access", &error.to_string(), error.help().as_ref()),
            WorkspaceError::Unavailable { .. }
            | WorkspaceError::ConfigMissing
            | WorkspaceError::ConfigEmpty => {
                Self::plain("workspace", &error.to_string(), error.help().as_ref())
            }
            WorkspaceError::Prompt(_) => Self::plain("budget", &error.to_string(), error.help().as_ref()),
            WorkspaceError::Config(_) => {
                Self::plain("configuration", &error.to_string(), error.help().as_ref())
            }
        }
    }

    pub(crate) fn of_document(document: &DocumentError) -> Self {
        Self {
            code: "configuration",
            message: document.message.clone(),
            help: document.help.clone().or_else(|| default_help(&document.file)),
            place: Some((document.file.clone(), document.at.line, document.at.column)),
            excerpt: Some(document.excerpt()),
        }
    }

    pub(crate) fn json(&self) -> Value {
        let mut out = json!({ "code": self.code, "message": self.message });
        if let Some(help) = &self.help {
            out["help"] = json!(help);
        }
        if let Some((file, line, column)) = &self.place {
            out["file"] = json!(file);
            out["line"] = json!(line);
            out["column"] = json!(column);
        }
        out
    }
}

/// The help for a problem without its own.
fn default_help(file: &str) -> Option<String> {
    Some(format!("fix `{file}` at the marked position"))
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
