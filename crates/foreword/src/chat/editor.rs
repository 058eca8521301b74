//! Lines from whoever sits at the terminal, with editing and a history that is kept from one time to the next.

use std::path::{Path, PathBuf};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Context, EditMode, Helper};

use super::piped::{goes_on, joined};
use super::slash::COMMANDS;
use crate::failure::Failure;
use crate::output::{BOLD, styled};

/// Where the history of lines is kept, beside the database: it holds what people said.
const FOLDER: &str = ".foreword";
const HISTORY: &str = "chat_history";
/// How many lines are kept.
const KEPT: usize = 1_000;

/// A line editor.
pub(crate) struct Editor {
    lines: rustyline::Editor<Manners, FileHistory>,
    history: PathBuf,
}

/// What was typed.
pub(crate) enum Line {
    /// Something to say or do.
    Words(String),
    /// Ctrl-C: the line is dropped.
    Interrupted,
    /// Ctrl-D.
    End,
}

/// What was answered to a question.
pub(crate) enum Answer {
    /// These words; none for Ctrl-D.
    Words(String),
    /// Ctrl-C.
    Interrupted,
}

impl Editor {
    pub(crate) fn open(workspace: &Path) -> Result<Self, Failure> {
        let config = Config::builder()
            .auto_add_history(false)
            .max_history_size(KEPT)
            .map_err(|error| no_terminal(&error))?
            .edit_mode(EditMode::Emacs)
            .build();
        let mut lines = rustyline::Editor::with_config(config).map_err(|error| no_terminal(&error))?;
        lines.set_helper(Some(Manners));
        let folder = workspace.join(FOLDER);
        // Without it nothing is kept, which is a pity and no failure.
        let _ = private_folder(&folder);
        let history = folder.join(HISTORY);
        // The first time there is none.
        let _ = lines.load_history(&history);
        Ok(Self { lines, history })
    }

    /// The next line, kept in the history before anything is done with it.
    pub(crate) fn read(&mut self, prompt: &str) -> Result<Line, Failure> {
        match self.lines.readline(&(prompt, styled(BOLD, prompt))) {
            Ok(line) => {
                let line = joined(&line);
                if !line.trim().is_empty() {
                    // A line that can't be remembered is still said. The file is made for its owner's eyes only.
                    let _ = self.lines.add_history_entry(line.as_str());
                    let _ = self.lines.append_history(&self.history);
                }
                Ok(Line::Words(line))
            }
            Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(error) => Err(no_terminal(&error)),
        }
    }

    /// An answer to a question; not remembered.
    pub(crate) fn ask(&mut self, prompt: &str) -> Answer {
        match self.lines.readline(prompt) {
            Ok(words) => Answer::Words(words),
            Err(ReadlineError::Interrupted) => Answer::Interrupted,
            Err(_) => Answer::Words(String::new()),
        }
    }
}

/// How the editor behaves: a stroke at the end of a line goes on in the next, Tab completes commands.
struct Manners;

impl Helper for Manners {}
impl Highlighter for Manners {}

impl Hinter for Manners {
    type Hint = String;
}

impl Validator for Manners {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match goes_on(context.input()) {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}

impl Completer for Manners {
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
