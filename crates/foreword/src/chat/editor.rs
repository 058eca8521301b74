//! Reads lines at the terminal with rustyline: editing, completion and a persistent history.

use std::path::{Path, PathBuf};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Context, EditMode, Helper};

use super::piped::{is_continued, joined};
use super::slash::COMMANDS;
use crate::failure::Failure;
use crate::output::{BOLD, styled};

/// The history file, beside the database since it contains messages.
const HISTORY_FOLDER: &str = ".foreword";
const HISTORY_FILE: &str = "chat_history";
const MAX_HISTORY_LINES: usize = 1_000;

pub(crate) struct Editor {
    lines: rustyline::Editor<EditorBehaviour, FileHistory>,
    history: PathBuf,
}

pub(crate) enum Line {
    /// A message or a command.
    Text(String),
    /// Ctrl-C: the line is dropped.
    Interrupted,
    /// Ctrl-D.
    End,
}

/// An answer to a question.
pub(crate) enum Answer {
    /// Empty on Ctrl-D.
    Text(String),
    /// Ctrl-C.
    Interrupted,
}

impl Editor {
    pub(crate) fn open(workspace: &Path) -> Result<Self, Failure> {
        let config = Config::builder()
            .auto_add_history(false)
            .max_history_size(MAX_HISTORY_LINES)
            .map_err(|error| no_terminal(&error))?
            .edit_mode(EditMode::Emacs)
            .build();
        let mut lines = rustyline::Editor::with_config(config).map_err(|error| no_terminal(&error))?;
        lines.set_helper(Some(EditorBehaviour));
        let folder = workspace.join(HISTORY_FOLDER);
        // Without the folder the history is not saved, but the chat works.
        let _ = private_folder(&folder);
        let history = folder.join(HISTORY_FILE);
        // The file does not exist the first time.
        let _ = lines.load_history(&history);
        Ok(Self { lines, history })
    }

    /// Reads a line and appends it to the history.
    pub(crate) fn read(&mut self, prompt: &str) -> Result<Line, Failure> {
        match self.lines.readline(&(prompt, styled(BOLD, prompt))) {
            Ok(line) => {
                let line = joined(&line);
                if !line.trim().is_empty() {
                    // The history is optional: errors are ignored. The file is created readable by its owner only.
                    let _ = self.lines.add_history_entry(line.as_str());
                    let _ = self.lines.append_history(&self.history);
                }
                Ok(Line::Text(line))
            }
            Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(error) => Err(no_terminal(&error)),
        }
    }

    /// Reads an answer; it is not added to the history.
    pub(crate) fn ask(&mut self, prompt: &str) -> Answer {
        match self.lines.readline(prompt) {
            Ok(words) => Answer::Text(words),
            Err(ReadlineError::Interrupted) => Answer::Interrupted,
            Err(_) => Answer::Text(String::new()),
        }
    }
}

/// A backslash at the end of a line continues it, Tab completes commands.
struct EditorBehaviour;

impl Helper for EditorBehaviour {}
impl Highlighter for EditorBehaviour {}

impl Hinter for EditorBehaviour {
    type Hint = String;
}

impl Validator for EditorBehaviour {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match is_continued(context.input()) {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}

impl Completer for EditorBehaviour {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let begun = line.get(..at).unwrap_or_default();
        if !begun.starts_with('/') {
            return Ok((at, Vec::new()));
        }
        let names = COMMANDS.iter().map(|(name, _)| *name).filter(|name| name.starts_with(begun));
        Ok((0, names.map(str::to_owned).collect()))
    }
}

fn private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

fn no_terminal(error: &ReadlineError) -> Failure {
    Failure::failed(
        format!("can't read from the terminal: {error}"),
        "give the message on the command line instead",
    )
}
