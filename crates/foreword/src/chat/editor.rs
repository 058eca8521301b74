//! Lines from whoever sits at the terminal, with editing and a history that is kept from one time to the next.

use std::path::{Path, PathBuf};

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, EditMode};

use crate::failure::Failure;

/// Where the history of lines is kept, beside the database: it holds what people said.
const HISTORY: &str = ".foreword/chat_history";

/// A line editor.
pub(crate) struct Editor {
    lines: rustyline::Editor<(), FileHistory>,
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

impl Editor {
    pub(crate) fn open(workspace: &Path) -> Result<Self, Failure> {
        let config = Config::builder().auto_add_history(false).edit_mode(EditMode::Emacs).build();
        let mut lines = rustyline::Editor::with_config(config).map_err(|error| no_terminal(&error))?;
        let history = workspace.join(HISTORY);
        // The first time there is none.
        let _ = lines.load_history(&history);
        Ok(Self { lines, history })
    }

    pub(crate) fn read(&mut self, prompt: &str) -> Result<Line, Failure> {
        match self.lines.readline(prompt) {
            Ok(line) => {
                if !line.trim().is_empty() {
                    // A line that can't be remembered is still said.
                    let _ = self.lines.add_history_entry(line.as_str());
                }
                Ok(Line::Words(line))
            }
            Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(error) => Err(no_terminal(&error)),
        }
    }

    /// An answer to a question; not remembered.
    pub(crate) fn ask(&mut self, prompt: &str) -> String {
        self.lines.readline(prompt).unwrap_or_default()
    }

    /// Keeps the lines for the next time.
    pub(crate) fn keep(&mut self) {
        // Losing them is a pity and no failure.
        let _ = self.lines.save_history(&self.history);
    }
}

fn no_terminal(error: &ReadlineError) -> Failure {
    Failure::failed(
        format!("can't read from the terminal: {error}"),
        "give the message on the command line instead",
    )
}
