//! Reads workspace files for one person: the rules are asked of the name that was written, and of the file that the
//! name leads to, before a byte is read. So neither a link nor a working directory is a way around them.

use std::path::Path;
use std::sync::Arc;

use foreword_prompt::file_rules::Needed;
use foreword_prompt::last_good::SourceVersion;
use foreword_prompt::layer::LayerId;
use foreword_prompt::prompt::Warning;
use foreword_prompt::trust::Trust;

use super::gather::Gatherer;
use crate::error::WorkspaceError;
use crate::path_trust::Access;
use crate::roots::Root;

/// What a guarded read gave.
pub(super) enum Guarded {
    /// The file's text.
    Text(Arc<str>),
    /// There is no such file.
    Missing(WorkspaceError),
    /// This person may not have it.
    Withheld,
}

impl Gatherer<'_> {
    /// The file at `path` below the workspace, if this person may have it. A file no rule is about is as visible as the
    /// layer that names it.
    pub(super) fn guarded(&mut self, layer: Option<&LayerId>, path: &str) -> Result<Guarded, WorkspaceError> {
        let path = &*self.snapshot.place_of(path);
        self.layer_reads.open(path);
        if let Some(version) = self.last_good(path) {
            let text = Arc::clone(&version.text);
            return Ok(if self.may_show_version(version) { Guarded::Text(text) } else { Guarded::Withheld });
        }
        if !self.may_show(path)? {
            self.warn_withheld(layer, path);
            return Ok(Guarded::Withheld);
        }
        match self.snapshot.file(path) {
            Ok(file) => {
                self.note_read(path, &file.text);
                Ok(Guarded::Text(file.text))
            }
            Err(error) if error.is_missing_file() => Ok(Guarded::Missing(error)),
            Err(error) => Err(error),
        }
    }

    /// Whether this person may have a version that was read earlier: by the rules of now, for its name and for the path that
    /// the name led to then.
    pub(super) fn may_show_version(&self, version: &SourceVersion) -> bool {
        let permits = |path: &str| self.needed(path).permits(self.trust(), Trust::Public);
        permits(&version.source) && permits(&version.resolved)
    }

    /// Notes what was read at `path` below the workspace.
    fn note_read(&self, path: &str, text: &Arc<str>) {
        let resolved = self.snapshot.files().root.locate(path).unwrap_or_else(|_| path.to_owned());
        let (source, resolved, text) = (path.into(), resolved.into(), Arc::clone(text));
        self.layer_reads.read(SourceVersion { source, resolved, text });
    }

    /// Whether this person may have the file that `path` leads to. One that is not there hides nothing.
    pub(super) fn may_show(&self, path: &str) -> Result<bool, WorkspaceError> {
        if !self.needed(path).permits(self.trust(), Trust::Public) {
            return Ok(false);
        }
        match self.snapshot.files().root.locate(path) {
            Ok(real) => Ok(self.needed(&real).permits(self.trust(), Trust::Public)),
            Err(error) if error.is_missing_file() => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Whether this person may have the file at `path` below `root`, which may be anywhere. Below the workspace its
    /// rules hold; elsewhere they hold by name, and what no rule is about needs `unruled`.
    pub(super) fn may_show_below(
        &self,
        root: &Root,
        path: &str,
        unruled: Trust,
    ) -> Result<bool, WorkspaceError> {
        let real = match root.locate(path) {
            Ok(real) => real,
            Err(error) if error.is_missing_file() => path.to_owned(),
            Err(error) => return Err(error),
        };
        let below = self.place.below_workspace(&root.label().path);
        let permits = |path: &str| {
            let known_as = below.as_ref().map_or_else(|| path.to_owned(), |below| format!("{below}/{path}"));
            self.needed(&known_as).permits(self.trust(), unruled)
        };
        Ok(permits(path) && permits(&real))
    }

    /// Whether this person may have the file at an absolute path. Elsewhere than below the workspace, only the owner.
    pub(super) fn may_show_absolute(&self, path: &str) -> bool {
        match self.place.below_workspace(Path::new(path)) {
            Some(below) => self.needed(&below).permits(self.trust(), Trust::Full),
            None => self.trust().permits(Trust::Full),
        }
    }

    pub(super) fn warn_withheld(&mut self, layer: Option<&LayerId>, path: &str) {
        let message =
            format!("`{}` is withheld: `{}` may not read it here", path.escape_debug(), self.trust());
        self.warnings.push(Warning {
            code: "file_withheld",
            layer: layer.cloned(),
            message,
            for_owner: true,
        });
    }

    /// What an include found; to a template, a file that is withheld is one it can't have.
    pub(super) fn included(&self, path: &str) -> Result<Option<Arc<str>>, String> {
        let path = &*self.snapshot.place_of(path);
        if let Some(version) = self.last_good(path) {
            let text = Arc::clone(&version.text);
            let too_little = || format!("`{path}` needs more trust than `{}`", self.trust());
            return if self.may_show_version(version) { Ok(Some(text)) } else { Err(too_little()) };
        }
        match self.may_show(path) {
            Ok(false) => Err(format!("`{path}` needs more trust than `{}`", self.trust())),
            Err(error) => Err(error.to_string()),
            Ok(true) => match self.snapshot.file(path) {
                Ok(file) => {
                    self.note_read(path, &file.text);
                    Ok(Some(file.text))
                }
                Err(error) if error.is_missing_file() => Ok(None),
                Err(error) => Err(error.to_string()),
            },
        }
    }

    fn needed(&self, path: &str) -> Needed {
        self.snapshot.needed(path, self.who.user.map(|user| &*user.name), Access::PromptSource)
    }
}
