//! The source of an agent's instructions: the directory of prompt files, and which source takes precedence. Reads no
//! files and no environment variables; the value is an argument.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use crate::agent_file_name::agent_file_name;
use crate::error::{AccessError, AccessReason, FileLocation, ResolutionError, RootLabel, WorkspaceError};
use crate::roots::{Root, is_reserved};

/// The environment variable that names the prompts root.
pub const PROMPTS_DIR_VARIABLE: &str = "FOREWORD_PROMPTS_DIR";

/// The default prompts root.
pub const DEFAULT_PROMPTS_DIR: &str = ".agents/prompt";

/// The directory of prompt files, and which setting chose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptsDir {
    /// The path as written, relative to the workspace or absolute.
    pub path: PathBuf,
    /// The setting that chose it.
    pub chosen_by: PromptsDirChoice,
}

/// The setting that chose the prompts root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptsDirChoice {
    /// `prompts_dir` in the configuration.
    Configuration,
    /// [`PROMPTS_DIR_VARIABLE`].
    Environment,
    /// [`DEFAULT_PROMPTS_DIR`].
    Default,
}

impl PromptsDirChoice {
    fn origin(self) -> String {
        match self {
            Self::Configuration => "`prompts_dir`".to_owned(),
            Self::Environment => format!("`{PROMPTS_DIR_VARIABLE}`"),
            Self::Default => "`prompts_dir` (unset, so its default)".to_owned(),
        }
    }
}

impl PromptsDir {
    /// Chooses the configured directory, otherwise the environment's, otherwise the default.
    ///
    /// ```
    /// use foreword_workspace::prompts_root::{PromptsDir, PromptsDirChoice};
    /// use std::ffi::OsStr;
    /// let chosen = PromptsDir::choose(None, Some(OsStr::new("/srv/prompts"))).unwrap();
    /// assert_eq!(chosen.chosen_by, PromptsDirChoice::Environment);
    /// assert!(PromptsDir::choose(None, Some(OsStr::new(""))).is_err());
    /// ```
    ///
    /// # Errors
    /// [`ResolutionError::EmptySetting`] when the setting with precedence is set but blank.
    pub fn choose(configured: Option<&str>, environment: Option<&OsStr>) -> Result<Self, WorkspaceError> {
        if let Some(path) = configured {
            let path = not_blank(path, "prompts_dir")?.into();
            return Ok(Self { path, chosen_by: PromptsDirChoice::Configuration });
        }
        if let Some(value) = environment {
            let path = match value.to_str() {
                Some(text) => not_blank(text, PROMPTS_DIR_VARIABLE)?.into(),
                None => PathBuf::from(value),
            };
            return Ok(Self { path, chosen_by: PromptsDirChoice::Environment });
        }
        Ok(Self { path: DEFAULT_PROMPTS_DIR.into(), chosen_by: PromptsDirChoice::Default })
    }

    /// Opens the directory as a root, relative to `workspace`.
    ///
    /// The owner chooses the path, so it may be anywhere except in `.foreword/` or `.git/` of the workspace; reads
    /// through the root cannot leave it.
    ///
    /// # Errors
    /// [`ResolutionError::MissingRoot`] when the directory does not exist, an [`AccessError`] when it may not be read.
    pub fn open(&self, workspace: &Path) -> Result<Root, WorkspaceError> {
        let path = workspace.join(&self.path);
        let below = path.strip_prefix(workspace).unwrap_or(&self.path);
        if let Some(name) = reserved_part(below) {
            let root = RootLabel { name: "workspace".to_owned(), path: workspace.to_owned() };
            let file = self.path.to_string_lossy().into_owned();
            let place = FileLocation { file, root: root.into() };
            return Err(AccessError { place, reason: AccessReason::Reserved(name) }.into());
        }
        Root::open_for("prompts", &path, &self.chosen_by.origin())
    }
}

/// The source of an agent's instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstructionSource {
    /// Blank inline instructions: no prompt, and no file is read.
    NoPrompt,
    /// Inline instructions.
    Inline(String),
    /// `instruction_file`, below the prompts root.
    File(String),
    /// The file derived from the agent's name, below the prompts root.
    AutoFile(String),
}

impl InstructionSource {
    /// Chooses inline instructions if they are set, even if blank; otherwise `instruction_file`; otherwise the file
    /// derived from the agent's name.
    ///
    /// ```
    /// use foreword_workspace::prompts_root::InstructionSource;
    /// let by_name = InstructionSource::choose(None, None, "ChatAgent").unwrap();
    /// assert_eq!(by_name, InstructionSource::AutoFile("CHAT_AGENT.md".to_owned()));
    /// ```
    ///
    /// # Errors
    /// [`ResolutionError`] when `instruction_file` is blank, or no file name can be derived from the agent's name.
    pub fn choose(
        instructions: Option<&str>,
        instruction_file: Option<&str>,
        agent_name: &str,
    ) -> Result<Self, WorkspaceError> {
        match (instructions, instruction_file) {
            (Some(blank), _) if blank.trim().is_empty() => Ok(Self::NoPrompt),
            (Some(inline), _) => Ok(Self::Inline(inline.to_owned())),
            (None, Some(file)) => Ok(Self::File(not_blank(file, "instruction_file")?.to_owned())),
            (None, None) => agent_file_name(agent_name).map(Self::AutoFile),
        }
    }
}

fn not_blank<'a>(value: &'a str, setting: &'static str) -> Result<&'a str, WorkspaceError> {
    match value.trim() {
        "" => Err(ResolutionError::EmptySetting { setting }.into()),
        value => Ok(value),
    }
}

fn reserved_part(path: &Path) -> Option<String> {
    path.components().find_map(|component| match component {
        Component::Normal(name) if is_reserved(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configured_root_precedes_environment_and_default() {
        let environment = Some(OsStr::new("from-environment"));
        let chosen = |configured, environment| PromptsDir::choose(configured, environment).unwrap();
        assert_eq!(chosen(Some("here"), environment).path, Path::new("here"));
        assert_eq!(chosen(Some("here"), environment).chosen_by, PromptsDirChoice::Configuration);
        assert_eq!(chosen(None, environment).path, Path::new("from-environment"));
        assert_eq!(chosen(None, None).path, Path::new(".agents/prompt"));
        assert_eq!(chosen(Some("here"), Some(OsStr::new(""))).path, Path::new("here"));
    }

    #[test]
    fn empty_prompts_root_setting_is_a_resolution_error() {
        for blank in ["", "  ", "\n"] {
            let error = PromptsDir::choose(None, Some(OsStr::new(blank))).unwrap_err();
            assert_eq!(error.to_string(), "`FOREWORD_PROMPTS_DIR` is set but empty");
            assert!(matches!(error, WorkspaceError::Resolution(ResolutionError::EmptySetting { .. })));
        }
        let error = PromptsDir::choose(Some(" "), None).unwrap_err();
        assert_eq!(error.to_string(), "`prompts_dir` is set but empty");
    }

    #[test]
    fn inline_instructions_win_even_when_blank() {
        let choose = |inline, file| InstructionSource::choose(inline, file, "ChatAgent").unwrap();
        assert_eq!(choose(Some("Be kind."), Some("x.md")), InstructionSource::Inline("Be kind.".to_owned()));
        assert_eq!(choose(Some(" \n"), Some("x.md")), InstructionSource::NoPrompt);
        assert_eq!(choose(Some(""), None), InstructionSource::NoPrompt);
        assert_eq!(choose(None, Some("x.md")), InstructionSource::File("x.md".to_owned()));
        assert_eq!(choose(None, None), InstructionSource::AutoFile("CHAT_AGENT.md".to_owned()));
    }

    #[test]
    fn blank_instruction_file_or_agent_name_is_an_error() {
        for (file, name) in [(Some(" "), "ChatAgent"), (None, "..")] {
            let error = InstructionSource::choose(None, file, name).unwrap_err();
            assert!(matches!(error, WorkspaceError::Resolution(_)));
        }
    }
}
