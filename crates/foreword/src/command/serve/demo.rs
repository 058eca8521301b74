//! `foreword serve --demo`: a sample workspace with the offline model, without keys or network. Data is stored in its
//! own folder, whatever the environment says; without `-w` the folder is removed at exit. The history is created after
//! the link to the page is printed.

mod driver;
pub(super) mod history;
mod sample_conversations;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use super::super::init;
use super::serve;
use crate::cli::serve::ServeArgs;
use crate::failure::Failure;
use crate::output::{BOLD, DIM, Output, styled};
use crate::process_context::ProcessContext;
use crate::workspace_files::DEMO_FILES;

pub(super) fn run(args: &ServeArgs, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    // The temporary folder is removed on every exit path.
    let place = match process.named_workspace() {
        Some(folder) => WorkspaceDir::Named(folder),
        None => WorkspaceDir::Temporary(Temporary::make(process)?),
    };
    let folder = place.folder();
    init::make(folder, DEMO_FILES, "omit --demo to serve the existing workspace, or name another directory")?;
    let process = process.elsewhere(folder);
    let workspace = Arc::new(process.open()?);
    let mut introduction = vec![format!("{} {}", styled(BOLD, "demo workspace:"), folder.display())];
    if matches!(place, WorkspaceDir::Temporary(_)) {
        introduction.push(styled(DIM, "it is removed on exit; use `-w DIR` to keep it"));
    }
    let flag = format!("-w {}", folder.display());
    introduction.push(format!(
        "alice has trust full (the owner), bob inner, carol familiar. In another terminal:\n  foreword {flag} chat\n  \
         foreword {flag} explain --user bob --situation group\n  foreword {flag} token create --user bob"
    ));
    serve(args, workspace, &introduction, &process, output)
}

enum WorkspaceDir {
    Named(PathBuf),
    Temporary(Temporary),
}

impl WorkspaceDir {
    fn folder(&self) -> &Path {
        match self {
            Self::Named(folder) | Self::Temporary(Temporary(folder)) => folder,
        }
    }
}

/// A temporary folder that is removed on drop.
struct Temporary(PathBuf);

impl Temporary {
    /// Has a random name and is accessible to the owner only.
    fn make(process: &ProcessContext) -> Result<Self, Failure> {
        let name = u128::from_le_bytes(process.marker);
        let folder = std::env::temp_dir().join(format!("foreword-demo-{name:032x}"));
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder).map_err(|error| Failure::io("make", &folder, &error))?;
        Ok(Self(folder))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // A folder that can't be removed is left to the system's cleanup of temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
