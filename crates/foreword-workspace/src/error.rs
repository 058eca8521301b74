//! The one error of this crate. Its variants are what a caller can do about it: point somewhere else
//! ([`ResolutionError`]), put the file right ([`AccessError`]), mend a template or mend a YAML document. Every
//! message names the file and the reason; [`WorkspaceError::help`] is the way out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use foreword_prompt::diagnostic::TemplateError;
use foreword_prompt::error::PromptError;

use crate::document::DocumentError;
use crate::one_line::one_line;

/// Why something in the workspace can't be used.
///
/// ```
/// use foreword_workspace::agent_file_name::agent_file_name;
/// use foreword_workspace::error::WorkspaceError;
/// let error = agent_file_name("..").unwrap_err();
/// assert!(matches!(error, WorkspaceError::Resolution(_)));
/// assert!(error.help().is_some());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceError {
    /// Nothing is where the configuration points.
    #[error(transparent)]
    Resolution(#[from] ResolutionError),
    /// Something is there, but may not or can't be read.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// A template that can't be parsed or rendered.
    #[error(transparent)]
    Template(Box<TemplateError>),
    /// A YAML file or front matter that does not say what it must.
    #[error(transparent)]
    Document(Box<DocumentError>),
    /// A configuration that is refused, with everything that is wrong with it.
    #[error("`foreword.yaml` is refused: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Config(Vec<DocumentError>),
    /// A prompt that can't be made to fit.
    #[error(transparent)]
    Prompt(#[from] PromptError),
}

impl WorkspaceError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Resolution(error) => Some(error.help()),
            Self::Access(error) => Some(error.help()),
            Self::Template(error) => error.help.clone(),
            Self::Document(error) => error.help.clone(),
            Self::Config(problems) => problems.iter().find_map(|problem| problem.help.clone()),
            Self::Prompt(error) => Some(error.help()),
        }
    }

    /// Whether the file simply is not there, which optional sources shrug off.
    #[must_use]
    pub fn is_missing_file(&self) -> bool {
        matches!(self, Self::Resolution(ResolutionError::MissingFile(_)))
    }
}

impl From<TemplateError> for WorkspaceError {
    fn from(error: TemplateError) -> Self {
        Self::Template(Box::new(error))
    }
}

impl From<DocumentError> for WorkspaceError {
    fn from(error: DocumentError) -> Self {
        Self::Document(Box::new(error))
    }
}

/// What a root is called and where it is: for messages only, files are opened through the root's handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootLabel {
    /// The name people know it by, such as `workspace` or `prompts`.
    pub name: String,
    /// Where it was opened.
    pub path: PathBuf,
}

/// A file named below a root.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` in the {} root `{}`", one_line(.file), .root.name, one_line(&.root.path.to_string_lossy()))]
pub struct FilePlace {
    /// The path below the root, as it was asked for.
    pub file: String,
    /// The root.
    pub root: Arc<RootLabel>,
}

/// Nothing is where the configuration points.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolutionError {
    /// A file that does not exist.
    #[error("no file {0}")]
    MissingFile(FilePlace),
    /// A root that does not exist, or is no directory.
    #[error("no directory `{}` for the {} root, which {origin} points to", one_line(&.root.path.to_string_lossy()), .root.name)]
    MissingRoot {
        /// The root.
        root: Arc<RootLabel>,
        /// Which setting points there.
        origin: String,
    },
    /// A setting that is there but says nothing.
    #[error("`{setting}` is set but empty")]
    EmptySetting {
        /// The key or the environment variable.
        setting: &'static str,
    },
    /// An agent name no file name can be made from.
    #[error("no prompt file name can be made from the agent name `{}`: {reason}", one_line(.name))]
    NoAgentFileName {
        /// The agent's name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// An agent that is not there, although others are.
    #[error("there is no agent `{}` here: there are {known}", one_line(.name))]
    UnknownAgent {
        /// The name.
        name: String,
        /// Those there are.
        known: String,
        /// The one that was probably meant.
        near: Option<String>,
    },
    /// An entry of the allow-list that is no absolute path.
    #[error("`{}` in the list of allowed paths is not an absolute path without `..`", one_line(.path))]
    BadAllowedPath {
        /// The entry.
        path: String,
    },
}

impl ResolutionError {
    fn help(&self) -> String {
        match self {
            Self::MissingFile(place) => {
                let path = place.root.path.join(&place.file);
                let path = path.to_string_lossy();
                format!("create `{}`, or correct the path that names it", one_line(&path))
            }
            Self::MissingRoot { root, origin } => {
                let path = root.path.to_string_lossy();
                format!("create the directory `{}`, or change {origin}", one_line(&path))
            }
            Self::EmptySetting { setting } => format!("give `{setting}` a directory or file, or unset it"),
            Self::NoAgentFileName { .. } => {
                "give the agent a name with letters or digits, or set `instruction_file`".to_owned()
            }
            Self::UnknownAgent { near: Some(near), .. } => format!("did you mean `{}`?", one_line(near)),
            Self::UnknownAgent { near: None, .. } => {
                "name one of these, or write it down in `agents`".to_owned()
            }
            Self::BadAllowedPath { .. } => "write the whole path, from `/`, without `..`".to_owned(),
        }
    }
}

/// A file that is there, or would be, but is not to be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {place}: {reason}")]
pub struct AccessError {
    /// Which file.
    pub place: FilePlace,
    /// Why not.
    pub reason: AccessReason,
}

impl AccessError {
    fn help(&self) -> String {
        match &self.reason {
            // Only `[file:/…]` looks below `/`, and only there is a list of what is allowed.
            AccessReason::Absolute if self.place.root.path == Path::new("/") => {
                "write the path relative to the working directory, or add it to `prompt.allowed_paths`"
            }
            AccessReason::Absolute => "write the path relative to the root",
            AccessReason::StepsOut | AccessReason::LeavesRoot => {
                "copy the file into the root, or use a relative link that stays inside it"
            }
            AccessReason::LinkLoop => "remove the link that points back to itself",
            AccessReason::NotRegular(_) => "point to a regular text file",
            AccessReason::HardLinked(_) => {
                "make it a copy of its own: `cp FILE FILE.new && mv FILE.new FILE`"
            }
            AccessReason::TooLarge { .. } => "split or shorten the file",
            AccessReason::Unreadable(_) => "check its permissions and the disk",
            AccessReason::KeepsChanging => "try again when nothing is writing to it",
            AccessReason::NulInPath => "remove the NUL character from the path",
            AccessReason::ForeignPath => "write the path with `/` between its parts and without a drive",
            AccessReason::NotUtf8 { .. } | AccessReason::NulInText { .. } => "save the file as UTF-8 text",
            AccessReason::Reserved(_) => "keep what a prompt needs outside `.foreword/` and `.git/`",
        }
        .to_owned()
    }
}

/// Why a file is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessReason {
    /// It starts with `/`.
    #[error("it is an absolute path")]
    Absolute,
    /// It has a `..`.
    #[error("it has a `..` step, which could leave the root")]
    StepsOut,
    /// A link leads out.
    #[error("a link leads out of the root")]
    LeavesRoot,
    /// Links that never end.
    #[error("its links lead in a circle or too far")]
    LinkLoop,
    /// A directory, pipe, socket or device.
    #[error("it is a {0}, not a regular file")]
    NotRegular(FileKind),
    /// The same file has other names, which may be outside the root.
    #[error("it has {0} hard links, so it may be a file from outside the root")]
    HardLinked(u64),
    /// More bytes than allowed.
    #[error("it is too large: {}the limit is {limit} bytes", .size.map(|size| format!("{size} bytes, ")).unwrap_or_default())]
    TooLarge {
        /// Its size, unless it grew past the limit while being read.
        size: Option<u64>,
        /// The most that is read.
        limit: u64,
    },
    /// The operating system says no.
    #[error("{0}")]
    Unreadable(String),
    /// It was written to during every attempt.
    #[error("it changed every time while it was being read")]
    KeepsChanging,
    /// A NUL in the path.
    #[error("its path has a NUL character")]
    NulInPath,
    /// Backslashes or a drive letter.
    #[error("its path has a backslash or a drive letter")]
    ForeignPath,
    /// Bytes that are no UTF-8.
    #[error("it is not UTF-8: the byte at offset {offset} does not fit{}", if *.utf16 { " (it looks like UTF-16)" } else { "" })]
    NotUtf8 {
        /// Where, in bytes from the start of the file.
        offset: usize,
        /// Whether it begins with a UTF-16 byte order mark.
        utf16: bool,
    },
    /// A NUL in the text.
    #[error("it is not text: it has a NUL byte at offset {offset}")]
    NulInText {
        /// Where, in bytes from the start of the file.
        offset: usize,
    },
    /// Below a directory that is never part of a prompt.
    #[error("`{0}` is never read")]
    Reserved(String),
}

/// What a path leads to when it is no regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A directory.
    Directory,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character or block device.
    Device,
    /// Something this system has and we have no word for.
    Special,
}

impl std::fmt::Display for FileKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Directory => "directory",
            Self::Fifo => "FIFO",
            Self::Socket => "socket",
            Self::Device => "device",
            Self::Special => "special file",
        })
    }
}
