//! The sandbox of `bash`: confines a command to the files its trust permits, where the system supports that without
//! root: Linux with Landlock. A command that cannot be confined is not run.
//!
//! The restriction applies to a thread that only starts the command; the command and its child processes inherit it,
//! and the thread ends. Nothing else in the program is restricted.

use std::io;
use std::path::PathBuf;

use tokio::process::{Child, Command};

use crate::tools::file_access::FileAccess;

/// The files a command may access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sandbox {
    /// The workspace.
    pub(super) directory: PathBuf,
    /// Readable files and folders below the workspace, with their content.
    pub(super) readable: Vec<String>,
    /// Files and folders that are also writable.
    pub(super) writable: Vec<String>,
}

impl Sandbox {
    /// The sandbox for the workspace at `directory`.
    pub(super) fn new(directory: PathBuf, access: &FileAccess<'_>) -> io::Result<Self> {
        let mut sandbox = Self { directory, readable: Vec::new(), writable: Vec::new() };
        sandbox.look_into("", access)?;
        Ok(sandbox)
    }

    /// Adds the accessible entries of a folder: a nested folder as a whole if all its files have the same access.
    fn look_into(&mut self, folder: &str, access: &FileAccess<'_>) -> io::Result<()> {
        for entry in std::fs::read_dir(self.directory.join(folder))? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let kind = entry.file_type()?;
            // The kernel resolves links to their targets, which must be accessible themselves.
            if kind.is_symlink() || [".foreword", ".git"].iter().any(|own| name.eq_ignore_ascii_case(own)) {
                continue;
            }
            if !kind.is_dir() {
                self.add(&path, &path, access);
            } else if access.is_of_one_mind_about(&path) {
                self.add(&path, &format!("{path}/any"), access);
            } else {
                self.look_into(&path, access)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &str, asked_as: &str, access: &FileAccess<'_>) {
        if access.may_write(asked_as) {
            self.writable.push(path.to_owned());
        } else if access.may_read(asked_as) {
            self.readable.push(path.to_owned());
        }
    }
}

/// Starts `command` such that it and its child processes are limited to `sandbox`.
#[cfg(target_os = "linux")]
pub(super) async fn spawn(mut command: Command, sandbox: Sandbox) -> io::Result<Child> {
    let runtime = tokio::runtime::Handle::current();
    let (sender, result) = tokio::sync::oneshot::channel();
    let start = move || {
        let started = landlocked::restrict_this_thread(&sandbox).and_then(|()| {
            let _in_runtime = runtime.enter();
            command.spawn()
        });
        // Without a receiver the child is dropped, which kills it.
        let _nobody_waits = sender.send(started);
    };
    std::thread::Builder::new().name("bash".to_owned()).spawn(start)?;
    result.await.map_err(io::Error::other)?
}

#[cfg(not(target_os = "linux"))]
pub(super) async fn spawn(_command: Command, _confinement: Sandbox) -> io::Result<Child> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "only Linux can hold a command to some files"))
}

#[cfg(target_os = "linux")]
mod landlocked {
    //! The Landlock rules.

    use std::fs::File;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use landlock::{
        ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
        RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
    };
    use rustix::fs::{Mode, OFlags, open, openat};

    use super::Sandbox;

    /// Programs and the files they need to start. Contains no personal files.
    const SYSTEM: [&str; 17] = [
        "/usr",
        "/bin",
        "/sbin",
        "/lib",
        "/lib32",
        "/lib64",
        "/libx32",
        "/nix/store",
        "/run/current-system",
        "/etc/alternatives",
        "/etc/group",
        "/etc/ld.so.cache",
        "/etc/ld.so.conf",
        "/etc/ld.so.conf.d",
        "/etc/localtime",
        "/etc/nsswitch.conf",
        "/etc/passwd",
    ];
    const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

    /// The minimum ABI: an older one could not prevent truncation of a read-only file.
    const MIN_ABI: ABI = ABI::V3;
    /// The ABI used where available: devices, network, signals to other processes, sockets.
    const MAX_ABI: ABI = ABI::V9;

    pub(super) fn restrict_this_thread(sandbox: &Sandbox) -> io::Result<()> {
        let unsupported = |error: &dyn std::fmt::Display| {
            io::Error::new(
                io::ErrorKind::Unsupported,
                format!("this kernel can't hold a command to some files: {error}"),
            )
        };
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(MIN_ABI))
            .and_then(|rules| {
                rules.set_compatibility(CompatLevel::BestEffort).handle_access(AccessFs::from_all(MAX_ABI))
            })
            .and_then(|rules| rules.handle_access(AccessNet::from_all(MAX_ABI)))
            .and_then(|rules| rules.scope(Scope::from_all(MAX_ABI)))
            .and_then(Ruleset::create)
            .map_err(|error| unsupported(&error))?;
        for (handle, access) in openings(sandbox) {
            let is_folder = handle.metadata()?.is_dir();
            let access = if is_folder { access } else { access & AccessFs::from_file(MIN_ABI) };
            rules = rules.add_rule(PathBeneath::new(handle, access)).map_err(|error| unsupported(&error))?;
        }
        let status = rules.restrict_self().map_err(|error| unsupported(&error))?;
        if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
            return Err(unsupported(&"Landlock is switched off"));
        }
        Ok(())
    }

    /// The paths to permit, with their access rights. Missing paths are skipped.
    fn openings(sandbox: &Sandbox) -> Vec<(File, BitFlags<AccessFs>)> {
        let read = AccessFs::from_read(MIN_ABI);
        let mut openings = Vec::new();
        let whole = |path: &str| open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map(File::from);
        openings.extend(SYSTEM.iter().filter_map(|path| Some((whole(path).ok()?, read))));
        let device = AccessFs::ReadFile | AccessFs::WriteFile;
        openings.extend(DEVICES.iter().filter_map(|path| Some((whole(path).ok()?, device))));
        let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(workspace) = open(&sandbox.directory, folder, Mode::empty()) else { return openings };
        let lists = [(&sandbox.readable, read), (&sandbox.writable, AccessFs::from_all(MIN_ABI))];
        for (paths, access) in lists {
            openings.extend(paths.iter().filter_map(|path| Some((inside(&workspace, path)?, access))));
        }
        openings
    }

    /// Opens the file or folder at `path` without following links, so that a link swapped in meanwhile gives no access.
    fn inside(workspace: &OwnedFd, path: &str) -> Option<File> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut here = File::from(workspace.try_clone().ok()?);
        for part in Path::new(path) {
            here = File::from(openat(&here, part, flags, Mode::empty()).ok()?);
            if here.metadata().ok()?.file_type().is_symlink() {
                return None;
            }
        }
        Some(here)
    }
}
