//! Which working directories a conversation may have: the workspace, those of `conversations.cwd_roots`, and everything
//! below them. Links are resolved before the check, and a path that cannot be resolved is refused.

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::roots::is_reserved;
use crate::workspace::Workspace;

/// An allowed working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkingDirectory {
    /// Its path, links resolved.
    pub path: PathBuf,
    /// Its stored form: relative to the workspace if it is below it, so that it is valid on nodes with another
    /// workspace path; otherwise absolute. `.` is the workspace itself.
    pub name: String,
}

/// Why a working directory is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkingDirectoryError {
    /// It does not exist.
    #[error("the working directory `{0}` does not exist")]
    Missing(String),
    /// It cannot be accessed, or it is not a directory.
    #[error("the working directory `{path}` can't be used: {reason}")]
    Unusable {
        /// The path.
        path: String,
        /// The reason.
        reason: String,
    },
    /// It is not below any of the allowed directories.
    #[error(
        "the working directory `{path}` is neither in the workspace nor below a directory in `conversations.cwd_roots`"
    )]
    NotAllowed {
        /// The path.
        path: String,
        /// The allowed directories, for the owner.
        roots: Vec<PathBuf>,
    },
}

impl WorkingDirectoryError {
    /// What the owner can do. It names directories, so only the owner may see it.
    #[must_use]
    pub fn help_for_owner(&self) -> String {
        match self {
            Self::Missing(_) => "create it, or choose another one".to_owned(),
            Self::Unusable { .. } => "choose a directory that this program may read".to_owned(),
            Self::NotAllowed { roots, .. } => {
                let roots: Vec<String> = roots.iter().map(|root| format!("`{}`", root.display())).collect();
                format!(
                    "allowed are {} and what is below; add others to `conversations.cwd_roots` in foreword.yaml",
                    roots.join(", ")
                )
            }
        }
    }
}

impl Workspace {
    /// Validates a working directory: absolute, below `~/`, or relative to the workspace.
    ///
    /// # Errors
    /// If it does not exist, is not a directory, or is not allowed.
    pub fn working_directory(&self, written: &str) -> Result<WorkingDirectory, WorkingDirectoryError> {
        let unusable = |reason: String| WorkingDirectoryError::Unusable { path: written.to_owned(), reason };
        let path = self.directory().join(self.expanded(written).ok_or_else(|| unusable(NO_HOME.to_owned()))?);
        let resolved = path.canonicalize().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => WorkingDirectoryError::Missing(written.to_owned()),
            _ => unusable(error.to_string()),
        })?;
        if !resolved.is_dir() {
            return Err(unusable("it is not a directory".to_owned()));
        }
        let not_allowed =
            || WorkingDirectoryError::NotAllowed { path: written.to_owned(), roots: self.cwd_roots() };
        let below_root = |root: PathBuf| resolved.strip_prefix(&root).ok().map(|below| (root.clone(), below));
        let (root, below) = self.resolved_roots().into_iter().find_map(below_root).ok_or_else(not_allowed)?;
        if below.components().any(|part| matches!(part, Component::Normal(name) if is_reserved(name))) {
            return Err(not_allowed());
        }
        let in_workspace = self.directory().canonicalize().is_ok_and(|workspace| workspace == root);
        let name = match below.to_str() {
            Some("") if in_workspace => Some("."),
            Some(below) if in_workspace => Some(below),
            _ => resolved.to_str(),
        };
        let name = name.ok_or_else(|| unusable("its path is not UTF-8".to_owned()))?.to_owned();
        Ok(WorkingDirectory { path: resolved, name })
    }

    /// Validates the stored working directory `name` again. A removed one is returned by its name: no file can be read
    /// there, and a conversation with a frozen prompt continues.
    ///
    /// # Errors
    /// If it cannot be used, or is no longer allowed.
    pub fn stored_working_directory(&self, name: &str) -> Result<PathBuf, WorkingDirectoryError> {
        match self.working_directory(name) {
            Ok(found) => Ok(found.path),
            Err(WorkingDirectoryError::Missing(_)) => {
                let workspace = self.directory().canonicalize();
                Ok(workspace.unwrap_or_else(|_| self.directory().to_owned()).join(name))
            }
            Err(error) => Err(error),
        }
    }

    /// The workspace and the configured roots, with `~/` expanded.
    fn cwd_roots(&self) -> Vec<PathBuf> {
        let snapshot = self.snapshot();
        let configured = snapshot.config.cwd_roots.iter().filter_map(|root| self.expanded(root));
        std::iter::once(self.directory().to_owned()).chain(configured).collect()
    }

    /// The same with links resolved. A missing directory allows nothing.
    fn resolved_roots(&self) -> Vec<PathBuf> {
        self.cwd_roots().iter().filter_map(|root| root.canonicalize().ok()).collect()
    }

    /// Expands `~/` in `written`. `None` if there is no home directory.
    fn expanded(&self, written: &str) -> Option<PathBuf> {
        match written.strip_prefix("~/") {
            Some(rest) => Some(self.dir().home()?.join(rest)),
            None => Some(Path::new(written).to_owned()),
        }
    }
}

const NO_HOME: &str = "there is no home directory";

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::workspace::Environment;

    struct Fixture {
        folder: tempfile::TempDir,
        workspace: Workspace,
    }

    fn fixture() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for path in ["workspace/notes", "workspace/.git", "home/code/app/.git", "elsewhere"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        fs::write(at("workspace/foreword.yaml"), "conversations: { cwd_roots: [~/code, ~/gone] }\n").unwrap();
        fs::write(at("home/code/file"), "").unwrap();
        symlink(at("elsewhere"), at("home/code/out")).unwrap();
        symlink(at("home/code/app"), at("elsewhere/in")).unwrap();
        let environment = Environment { home: Some(at("home")), ..Environment::default() };
        let workspace = Workspace::open(&at("workspace"), environment).unwrap();
        Fixture { folder, workspace }
    }

    impl Fixture {
        fn name(&self, path: &str) -> Result<String, WorkingDirectoryError> {
            let path = path.replace("TMP", &self.folder.path().to_string_lossy());
            self.workspace.working_directory(&path).map(|found| found.name)
        }
    }

    #[test]
    fn directories_below_the_workspace_and_the_roots_are_allowed() {
        let fixture = fixture();
        for (path, name) in [(".", "."), ("notes", "notes"), ("TMP/workspace/notes/", "notes")] {
            assert_eq!(fixture.name(path).as_deref(), Ok(name), "{path}");
        }
        let app = fixture.folder.path().canonicalize().unwrap().join("home/code/app");
        for path in ["~/code/app", "TMP/home/code/app", "TMP/elsewhere/in", "../home/code/app"] {
            assert_eq!(fixture.name(path).as_deref(), Ok(app.to_str().unwrap()), "{path}");
        }
    }

    #[test]
    fn links_out_of_a_root_and_others_are_refused() {
        let fixture = fixture();
        let outside = [
            "/",
            "..",
            "~/",
            "TMP/elsewhere",
            "~/code/out",
            "~/code/../../elsewhere",
            ".git",
            "~/code/app/.git",
        ];
        for path in outside {
            let refused = fixture.name(path).unwrap_err();
            assert!(matches!(refused, WorkingDirectoryError::NotAllowed { .. }), "{path}: {refused:?}");
            let help = refused.help_for_owner();
            assert!(help.contains("/home/code`") && help.contains("/workspace`"), "{help}");
            assert!(!refused.to_string().contains("home/code`"), "{refused}");
        }
        assert!(matches!(fixture.name("~/code/file"), Err(WorkingDirectoryError::Unusable { .. })));
        assert!(matches!(fixture.name("~/gone"), Err(WorkingDirectoryError::Missing(_))));
    }

    #[test]
    fn stored_directory_is_rechecked() {
        let fixture = fixture();
        let stored = |name: &str| fixture.workspace.stored_working_directory(name);
        assert!(stored("notes").unwrap().ends_with("workspace/notes"));
        assert!(stored("removed").unwrap().ends_with("workspace/removed"));
        fs::remove_dir(fixture.folder.path().join("workspace/notes")).unwrap();
        symlink(fixture.folder.path().join("elsewhere"), fixture.folder.path().join("workspace/notes"))
            .unwrap();
        assert!(matches!(stored("notes"), Err(WorkingDirectoryError::NotAllowed { .. })));
    }
}
