//! The error type of this crate. The variants correspond to what the caller can do: change a path
//! ([`ResolutionError`]), fix a file ([`AccessError`]), a template or a YAML document. Every message names the file and
//! the reason; [`WorkspaceError::help`] says what to do.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use foreword_prompt::diagnostic::TemplateError;
use foreword_prompt::error::PromptError;

use crate::document::DocumentError;
use crate::one_line::one_line;

/// Why part of the workspace cannot be used.
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
    /// A configured path does not exist.
    #[error(transparent)]
    Resolution(#[from] ResolutionError),
    /// A file exists, but may not or cannot be read.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// A template that cannot be parsed or rendered.
    #[error(transparent)]
    Template(Box<TemplateError>),
    /// An invalid YAML file or front matter.
    #[error(transparent)]
    Document(Box<DocumentError>),
    /// A rejected configuration with all its problems.
    #[error("`foreword.yaml` is refused: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Config(Vec<DocumentError>),
    /// A prompt that does not fit its budget.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The workspace directory was removed or replaced while it was open. No prompts are built any more.
    #[error("the workspace directory `{}` {reason}", one_line(&.path.to_string_lossy()))]
    Unavailable {
        /// The path it was opened at.
        path: PathBuf,
        /// What happened to it.
        reason: String,
    },
    /// The workspace had a `foreword.yaml`, which was removed.
    #[error("`foreword.yaml` is missing, and this workspace had one")]
    ConfigMissing,
    /// `foreword.yaml` was emptied while the workspace was open.
    #[error("`foreword.yaml` is empty, and it had settings before")]
    ConfigEmpty,
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
            Self::Unavailable { .. } => {
                Some("restore the directory, or restart in its new location".to_owned())
            }
            Self::ConfigMissing | Self::ConfigEmpty => Some(
                "restore it; for the default configuration write `{}` into it. A running server keeps the last valid \
                 configuration until then"
                    .to_owned(),
            ),
        }
    }

    /// Whether the file does not exist, which is no error for optional sources.
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

/// The name and path of a root. For messages only: files are opened through the root's handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootLabel {
    /// The root's name, such as `workspace` or `prompts`.
    pub name: String,
    /// The path it was opened at.
    pub path: PathBuf,
}

/// A file path below a root.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` in the {} root `{}`", one_line(.file), .root.name, one_line(&.root.path.to_string_lossy()))]
pub struct FileLocation {
    /// The path below the root, as requested.
    pub file: String,
    /// The root.
    pub root: Arc<RootLabel>,
}

/// A configured path that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolutionError {
    /// A file that does not exist.
    #[error("no file {0}")]
    MissingFile(FileLocation),
    /// A root that does not exist, or is not a directory.
    #[error("no directory `{}` for the {} root, which {origin} points to", one_line(&.root.path.to_string_lossy()), .root.name)]
    MissingRoot {
        /// The root.
        root: Arc<RootLabel>,
        /// The setting with the path.
        origin: String,
    },
    /// A setting that is present but empty.
    #[error("`{setting}` is set but empty")]
    EmptySetting {
        /// The key or the environment variable.
        setting: &'static str,
    },
    /// An agent name from which no file name can be derived.
    #[error("no prompt file name can be derived from the agent name `{}`: {reason}", one_line(.name))]
    NoAgentFileName {
        /// The agent's name.
        name: String,
        /// The reason.
        reason: &'static str,
    },
    /// An unknown agent in a workspace with several agents.
    #[error("there is no agent `{}` here: there are {known}", one_line(.name))]
    UnknownAgent {
        /// The requested name.
        name: String,
        /// The existing agents.
        known: String,
        /// The most similar name.
        near: Option<String>,
    },
    /// An entry of the allow-list that is not an absolute path.
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
            Self::UnknownAgent { near: None, .. } => "name one of these, or add it to `agents`".to_owned(),
            Self::BadAllowedPath { .. } => "write the whole path, from `/`, without `..`".to_owned(),
        }
    }
}

/// A file that may not or cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {place}: {reason}")]
pub struct AccessError {
    /// The file.
    pub place: FileLocation,
    /// The reason.
    pub reason: AccessReason,
}

impl AccessError {
    fn help(&self) -> String {
        match &self.reason {
            // Only `[file:/…]` uses the root `/`, and only it has an allow-list.
            AccessReason::Absolute if self.place.root.path == Path::new("/") => {
                "write the path relative to the working directory, or add it to `prompt.allowed_paths`"
            }
            AccessReason::Absolute => "write the path relative to the root",
            AccessReason::StepsOut | AccessReason::LeavesRoot => {
                "copy the file into the root, or use a relative link that stays inside it"
            }
            AccessReason::LinkLoop => "remove the link that points back to itself",
            AccessReason::NotRegular(_) => "point to a regular text file",
            AccessReason::HardLinked(_) => "replace it by a copy: `cp FILE FILE.new && mv FILE.new FILE`",
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
    /// The path is absolute.
    #[error("it is an absolute path")]
    Absolute,
    /// The path contains `..`.
    #[error("it has a `..` step, which could leave the root")]
    StepsOut,
    /// A symbolic link leads out of the root.
    #[error("a link leads out of the root")]
    LeavesRoot,
    /// Symbolic links form a loop.
    #[error("its links form a loop or are too many")]
    LinkLoop,
    /// A directory, pipe, socket or device.
    #[error("it is a {0}, not a regular file")]
    NotRegular(FileKind),
    /// The file has other hard links, which may be outside the root.
    #[error("it has {0} hard links, so it may be a file from outside the root")]
    HardLinked(u64),
    /// The file exceeds the size limit.
    #[error("it is too large: {}the limit is {limit} bytes", .size.map(|size| format!("{size} bytes, ")).unwrap_or_default())]
    TooLarge {
        /// Its size, unless it grew beyond the limit during the read.
        size: Option<u64>,
        /// The limit.
        limit: u64,
    },
    /// An error of the operating system.
    #[error("{0}")]
    Unreadable(String),
    /// The file changed during every attempt to read it.
    #[error("it changed during every attempt to read it")]
    KeepsChanging,
    /// The path contains a NUL byte.
    #[error("its path has a NUL character")]
    NulInPath,
    /// The path has backslashes or a drive letter.
    #[error("its path has a backslash or a drive letter")]
    ForeignPath,
    /// The file is not UTF-8.
    #[error("it is not UTF-8: the byte at offset {offset} does not fit{}", if *.utf16 { " (it looks like UTF-16)" } else { "" })]
    NotUtf8 {
        /// The byte offset of the invalid sequence.
        offset: usize,
        /// Whether the file begins with a UTF-16 byte order mark.
        utf16: bool,
    },
    /// The text contains a NUL byte.
    #[error("it is not text: it has a NUL byte at offset {offset}")]
    NulInText {
        /// The byte offset.
        offset: usize,
    },
    /// The file is below a reserved directory.
    #[error("`{0}` is never read")]
    Reserved(String),
}

/// The kind of something that is not a regular file.
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
    /// Any other kind.
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
