//! Reads workspace files for one user. The file rules are checked for the written path and for the path the file really
//! has, before the file is read. So neither a symbolic link nor a working directory bypasses them.

use std::path::Path;
use std::sync::Arc;

use foreword_prompt::file_rules::FileRequirement;
use foreword_prompt::last_good::SourceVersion;
use foreword_prompt::layer::LayerId;
use foreword_prompt::prompt::Warning;
use foreword_prompt::trust::Trust;

use super::gather::Gatherer;
use crate::error::WorkspaceError;
use crate::path_trust::Access;
use crate::roots::Root;
use crate::skills::Skill;

/// The result of a guarded read.
pub(super) enum GuardedRead {
    /// The file's text.
    Text(Arc<str>),
    /// The file does not exist.
    Missing(WorkspaceError),
    /// This user may not read the file.
    Withheld,
}

impl Gatherer<'_> {
    /// Reads the file at `path` below the workspace if this user may read it. A file without a rule is as visible as
    /// the layer that names it.
    pub(super) fn guarded(
        &mut self,
        layer: Option<&LayerId>,
        path: &str,
    ) -> Result<GuardedRead, WorkspaceError> {
        let path = &*self.snapshot.place_of(path);
        self.layer_reads.open(path);
        if let Some(version) = self.last_good(path) {
            let text = Arc::clone(&version.text);
            return Ok(if self.may_show_version(version) {
                GuardedRead::Text(text)
            } else {
                GuardedRead::Withheld
            });
        }
        if !self.may_show(path)? {
            self.warn_withheld(layer, path);
            return Ok(GuardedRead::Withheld);
        }
        match self.snapshot.file(path) {
            Ok(file) => {
                self.note_read(path, &file.text);
                Ok(GuardedRead::Text(file.text))
            }
            Err(error) if error.is_missing_file() => Ok(GuardedRead::Missing(error)),
            Err(error) => Err(error),
        }
    }

    /// Whether this user may see a version that was read earlier. The current rules apply, to the written path and to
    /// the path it resolved to at that time.
    pub(super) fn may_show_version(&self, version: &SourceVersion) -> bool {
        let permits = |path: &str| self.required_trust(path).permits(self.trust(), Trust::Public);
        permits(&version.source) && permits(&version.resolved)
    }

    /// Records that `path` below the workspace was read.
    fn note_read(&self, path: &str, text: &Arc<str>) {
        let resolved = self.snapshot.files().root.locate(path).unwrap_or_else(|_| path.to_owned());
        let (source, resolved, text) = (path.into(), resolved.into(), Arc::clone(text));
        self.layer_reads.read(SourceVersion { source, resolved, text });
    }

    /// Whether this user may read the file that `path` resolves to. A missing file counts as readable.
    pub(super) fn may_show(&self, path: &str) -> Result<bool, WorkspaceError> {
        if !self.required_trust(path).permits(self.trust(), Trust::Public) {
            return Ok(false);
        }
        match self.snapshot.files().root.locate(path) {
            Ok(real) => Ok(self.required_trust(&real).permits(self.trust(), Trust::Public)),
            Err(error) if error.is_missing_file() => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Whether this user may see `skill`. Its path was resolved when it was read, so this needs no file access. A skill
    /// whose file cannot be located is left out.
    pub(super) fn may_show_skill(&self, skill: &Skill) -> bool {
        let permits = |path: &str| self.required_trust(path).permits(self.trust(), Trust::Public);
        let Some(real) = skill.real_path.as_deref() else { return false };
        permits(&skill.path) && (real == skill.path || permits(real))
    }

    /// Whether this user may read the file at `path` below `root`, which may be outside the workspace. Inside the
    /// workspace its rules apply. Outside they apply by name, and a file without a rule needs `unruled`.
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
        let below = self.dir.below_workspace(&root.label().path);
        let permits = |path: &str| {
            let known_as = below.as_ref().map_or_else(|| path.to_owned(), |below| format!("{below}/{path}"));
            self.required_trust(&known_as).permits(self.trust(), unruled)
        };
        Ok(permits(path) && permits(&real))
    }

    /// Whether this user may read the file at an absolute path. Outside the workspace only the owner may.
    pub(super) fn may_show_absolute(&self, path: &str) -> bool {
        match self.dir.below_workspace(Path::new(path)) {
            Some(below) => self.required_trust(&below).permits(self.trust(), Trust::Full),
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

    /// The text of an include. Templates see a withheld file as a missing one.
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

    fn required_trust(&self, path: &str) -> FileRequirement {
        self.snapshot.required_trust(
            path,
            self.who.user.as_ref().map(|user| &*user.name),
            Access::PromptSource,
        )
    }
}
