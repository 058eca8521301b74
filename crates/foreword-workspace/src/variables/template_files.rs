//! Reads the files in a template's `[file:…]` tags, as a build does. An unreadable file counts as missing, with a
//! warning at its tag that is the same in every report.

use std::sync::Arc;

use foreword_prompt::bracket::Template;
use foreword_prompt::diagnostic::position_of;

use super::file::{AllowedPaths, read_variable_path};
use crate::config::Config;
use crate::document::DocumentError;
use crate::error::WorkspaceError;
use crate::roots::Root;

/// The code of the warning about an unreadable file.
pub(crate) const UNREADABLE_FILE: &str = "unreadable_file";

/// The files that `[file:…]` can read.
pub(crate) struct TemplateFiles {
    /// The working directory.
    pub(crate) root: Root,
    allowed: AllowedPaths,
}

impl TemplateFiles {
    /// The files below `root`, and the absolute paths that the configuration allows.
    pub(crate) fn new(root: Root, config: &Config) -> Result<Self, WorkspaceError> {
        let allowed = AllowedPaths::new(config.prompt.allowed_paths.iter().map(Into::into))?;
        Ok(Self { root, allowed })
    }

    /// The text at `path`; `None` if the file does not exist.
    pub(crate) fn read(&self, path: &str) -> Result<Option<String>, WorkspaceError> {
        match read_variable_path(&self.root, &self.allowed, path) {
            Ok(file) => Ok(Some(file.text.to_string())),
            Err(error) if error.is_missing_file() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The warning that `[file:path]` in the template called `name` cannot be read.
pub(crate) fn unreadable(
    template: &Template,
    name: &str,
    path: &str,
    error: &WorkspaceError,
) -> DocumentError {
    let text = Arc::clone(template.source());
    let start = tag_of(&text, path).unwrap_or_default();
    DocumentError {
        file: name.to_owned(),
        at: position_of(&text, start),
        message: format!("`[file:{path}]` counts as missing: {error}"),
        help: error.help(),
        span: start..start + path.len(),
        text,
    }
}

/// The offset of the path in the first `[file:path]` tag. The same path may occur in other text.
fn tag_of(text: &str, path: &str) -> Option<usize> {
    let is_tag = |at: usize| {
        text[..at].trim_end().ends_with("file:") && text[at + path.len()..].trim_start().starts_with(']')
    };
    text.match_indices(path).map(|(at, _)| at).find(|at| is_tag(*at))
}
