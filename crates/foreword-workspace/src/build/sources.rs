//! Handles layer sources that cannot be read or rendered. The last good version replaces a failed source. Without one,
//! an optional layer is left out, and a required layer fails the build, or is reported if the turn has its prompt
//! already.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use foreword_prompt::assemble::Provenance;
use foreword_prompt::content::Content;
use foreword_prompt::last_good::{LastGood, SourceVersion};
use foreword_prompt::layer::{Layer, LayerId, Source};
use foreword_prompt::prompt::Warning;

use super::gather::{Gatherer, provenance};
use crate::error::WorkspaceError;
use crate::request::SourcePolicy;

/// The sources of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// The sources that could not be read or rendered.
    pub failures: Vec<SourceFailure>,
    /// The files that a bracket template names and that can't be read. They count as missing, so the layer is complete.
    pub unreadable: Vec<SourceFailure>,
    /// The versions that were read and rendered without an error.
    pub good: Vec<SourceVersion>,
    /// Whether the sources of frozen layers were skipped.
    pub skipped: bool,
}

impl Sources {
    /// Whether every required layer has a text, so that the prompt can be frozen.
    #[must_use]
    pub fn are_complete(&self) -> bool {
        !self.skipped && !self.failures.iter().any(|failure| failure.replacement == Replacement::Nothing)
    }

    /// Whether the current text of the layer is unknown.
    #[must_use]
    pub fn is_unread(&self, layer: &str) -> bool {
        let is_unread = |failure: &SourceFailure| {
            failure.layer.as_str() == layer && failure.replacement != Replacement::LastGood
        };
        self.skipped || self.failures.iter().any(is_unread)
    }
}

/// A source that could not be read or rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFailure {
    /// The layer that uses the source.
    pub layer: LayerId,
    /// The file or template.
    pub source: Arc<str>,
    /// The reason.
    pub error: WorkspaceError,
    /// What the prompt contains instead.
    pub replacement: Replacement,
}

/// What a prompt contains instead of a failed source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// The last version that worked.
    LastGood,
    /// No text, or a built-in one: the source is optional.
    Skipped,
    /// Nothing replaces it, so no new prompt can be frozen.
    Nothing,
}

impl fmt::Display for Replacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LastGood => "its last good version is used",
            Self::Skipped => "it is optional, so prompts omit it",
            Self::Nothing => "running conversations keep their prompt; new ones can't start",
        })
    }
}

/// The files read for one layer. Interior mutability, because template loaders have only a shared reference.
#[derive(Debug, Default)]
pub(super) struct LayerReads {
    /// The source that was opened first. Failures are reported for it.
    first: RefCell<Option<Arc<str>>>,
    read: RefCell<Vec<SourceVersion>>,
    /// Whether last good versions are used instead of the sources themselves.
    from_last_good: bool,
}

impl LayerReads {
    /// Records that `source` is being opened.
    pub(super) fn open(&self, source: &str) {
        self.first.borrow_mut().get_or_insert_with(|| source.into());
    }

    /// Records a version that was read.
    pub(super) fn read(&self, version: SourceVersion) {
        self.read.borrow_mut().push(version);
    }
}

impl Gatherer<'_> {
    /// The last good version of `source`, if the layer is built from last good versions.
    pub(super) fn last_good(&self, source: &str) -> Option<&SourceVersion> {
        let versions: Option<&Arc<LastGood>> = self.request.last_good.as_ref();
        versions.filter(|_| self.layer_reads.from_last_good).and_then(|versions| versions.get(source))
    }

    /// The text of a layer. If its source fails: the last good version, or no text where the policy allows that.
    pub(super) fn layer_text(&mut self, layer: &Layer) -> Result<(Content, Provenance), WorkspaceError> {
        let warnings = self.warnings.len();
        self.layer_reads = LayerReads::default();
        let error = match self.text_of(layer) {
            Ok(found) => {
                self.sources.good.append(&mut self.layer_reads.read.take());
                return Ok(found);
            }
            Err(error) => error,
        };
        self.warnings.truncate(warnings);
        let source = self.layer_reads.first.take().unwrap_or_else(|| layer.id.as_str().into());
        let (replacement, found) = self.replacement(layer, &error)?;
        self.warnings.push(Warning {
            code: "source_failed",
            layer: Some(layer.id.clone()),
            message: format!("{error}; {replacement}"),
            for_owner: true,
        });
        self.sources.failures.push(SourceFailure { layer: layer.id.clone(), source, error, replacement });
        Ok(found)
    }

    fn replacement(
        &mut self,
        layer: &Layer,
        error: &WorkspaceError,
    ) -> Result<(Replacement, (Content, Provenance)), WorkspaceError> {
        if self.request.last_good.is_some() {
            let warnings = self.warnings.len();
            self.layer_reads = LayerReads { from_last_good: true, ..LayerReads::default() };
            let found = self.text_of(layer);
            self.layer_reads = LayerReads::default();
            if let Ok(found) = found {
                return Ok((Replacement::LastGood, found));
            }
            self.warnings.truncate(warnings);
        }
        let absent = Content::Absent("its source can't be read".to_owned());
        match &layer.source {
            Source::File(file) if !file.required => {
                Ok((Replacement::Skipped, self.with_builtin(layer, file, absent, "")))
            }
            Source::Overlay => Ok((Replacement::Skipped, (absent, provenance("file", None)))),
            _ if self.request.sources == SourcePolicy::Require => Err(error.clone()),
            _ => Ok((Replacement::Nothing, (absent, provenance(layer.source.kind(), None)))),
        }
    }
}
