//! `foreword serve --demo`: a household to try things in, with the offline model, no key and no network. What it stores is in
//! its own folder, whatever the environment says; without `-w` the folder goes when the server does. It makes a
//! history for itself as soon as it has printed the link to the page.

pub(super) mod history;
mod house;
mod scenes;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use super::super::init;
use super::serve;
use crate::cli::serve::ServeArgs;
use crate::demo_files::HOUSEHOLD;
use crate::failure::Failure;
use crate::output::{BOLD, DIM, Output, styled};
use crate::world::World;

pub(super) fn run(args: &ServeArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    // Gone at the end, however it ends.
    let place = match world.named_workspace() {
        Some(folder) => Place::Named(folder),
        None => Place::Temporary(Temporary::make(world)?),
    };
    let folder = place.folder();
    init::make(folder, HOUSEHOLD, "leave out --demo to serve what is there, or name another directory")?;
    let world = world.elsewhere(folder);
    let workspace = Arc::new(world.open()?);
    let mut introduction =
        vec![format!("{} {}", styled(BOLD, "a workspace to try things in:"), folder.display())];
    if matches!(place, Place::Temporary(_)) {
        introduction.push(styled(DIM, "it is removed when this stops; with `-w DIR` it stays"));
    }
    let flag = format!("-w {}", folder.display());
    introduction.push(format!(
        "alice is the owner, bob is close, carol is known. In another terminal:\n  foreword {flag} chat\n  \
         foreword {flag} explain --user bob --situation group\n  foreword {flag} token create --user bob"
    ));
    serve(args, workspace, &introduction, &world, output)
}

/// Where the workspace is.
enum Place {
    Named(PathBuf),
    Temporary(Temporary),
}

impl Place {
    fn folder(&self) -> &Path {
        match self {
            Self::Named(folder) | Self::Temporary(Temporary(folder)) => folder,
        }
    }
}

/// A folder of this run alone, which goes when this does.
struct Temporary(PathBuf);

impl Temporary {
    /// One that nobody could have put there before, and nobody else can look into.
    fn make(world: &World) -> Result<Self, Failure> {
        let name = u128::from_le_bytes(world.marker);
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
        // What can't be removed is left to whoever tidies up temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
