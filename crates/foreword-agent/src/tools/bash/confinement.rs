//! Holds a command to the files its trust opens, where the system can do that to a process without root: Linux with
//! Landlock. What can't be held is not run.
//!
//! The restriction is put on a thread that does nothing but start the command, which inherits it with everything it
//! starts; then the thread ends. Nothing else in the program is restricted.

use std::io;
use std::path::PathBuf;

use tokio::process::{Child, Command};

use crate::tools::file_access::FileAccess;

/// What a command may touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Confinement {
    /// The workspace.
    pub(super) directory: PathBuf,
    /// Files and folders below it that may be read, with what is in them.
    pub(super) readable: Vec<String>,
    /// Files and folders below it that may also be written.
    pub(super) writable: Vec<String>,
}

impl Confinement {
    /// What somebody may touch in the workspace at `directory`.
    pub(super) fn new(directory: PathBuf, access: &FileAccess<'_>) -> io::Result<Self> {
        let mut confinement = Self { directory, readable: Vec::new(), writable: Vec::new() };
        confinement.look_into("", access)?;
        Ok(confinement)
    }

    /// Adds what may be touched in a folder: inner folders as a whole where one answer holds for all of it.
    fn look_into(&mut self, folder: &str, access: &FileAccess<'_>) -> io::Result<()> {
        for entry in std::fs::read_dir(self.directory.join(folder))? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let kind = entry.file_type()?;
            // Links are followed by the system to what they lead to, which has to be open itself.
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

/// Starts `command` such that neither it nor anything it starts touches more than `confinement` says.
#[cfg(target_os = "linux")]
pub(super) async fn spawn(mut command: Command, confinement: Confinement) -> io::Result<Child> {
    let runtime = tokio::runtime::Handle::current();
    let (tell, told) = tokio::sync::oneshot::channel();
    let start = move || {
        let started = landlocked::restrict_this_thread(&confinement).and_then(|()| {
            let _in_runtime = runtime.enter();
            command.spawn()
        });
        // If nobody waits any more, what was started is dropped, and with it killed.
        let _nobody_waits = tell.send(started);
    };
    std::thread::Builder::new().name("bash".to_owned()).spawn(start)?;
    told.await.map_err(io::Error::other)?
}

#[cfg(not(target_os = "linux"))]
pub(super) async fn spawn(_command: Command, _confinement: Confinement) -> io::Result<Child> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "only Linux can hold a command to some files"))
}

#[cfg(target_os = "linux")]
mod landlocked {
    //! The rules, as the kernel takes them.

    use std::fs::File;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use landlock::{
        ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
        RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
    };
    use rustix::fs::{Mode, OFlags, open, openat};

    use super::Confinement;

    /// Programs and what they need to start. Nobody's own files are here.
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

    /// What has to be there, or nothing is run: with less a file could be emptied that may not be written.
    const LEAST: ABI = ABI::V3;
    /// What is used where it is there: devices, network, signals to others, sockets.
    const MOST: ABI = ABI::V9;

    pub(super) fn restrict_this_thread(confinement: &Confinement) -> io::Result<()> {
        let unsupported = |error: &dyn std::fmt::Display| {
            io::Error::new(
                io::ErrorKind::Unsupported,
                format!("this kernel can't hold a command to some files: {error}"),
            )
        };
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(LEAST))
            .and_then(|rules| {
                rules.set_compatibility(CompatLevel::BestEffort).handle_access(AccessFs::from_all(MOST))
            })
            .and_then(|rules| rules.handle_access(AccessNet::from_all(MOST)))
            .and_then(|rules| rules.scope(Scope::from_all(MOST)))
            .and_then(Ruleset::create)
            .map_err(|error| unsupported(&error))?;
        for (handle, access) in openings(confinement) {
            let is_folder = handle.metadata()?.is_dir();
            let access = if is_folder { access } else { access & AccessFs::from_file(LEAST) };
            rules = rules.add_rule(PathBeneath::new(handle, access)).map_err(|error| unsupported(&error))?;
        }
        let status = rules.restrict_self().map_err(|error| unsupported(&error))?;
        if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
            return Err(unsupported(&"Landlock is switched off"));
        }
        Ok(())
    }

    /// What is opened, and for what. Paths that are not there are left out.
    fn openings(confinement: &Confinement) -> Vec<(File, BitFlags<AccessFs>)> {
        let read = AccessFs::from_read(LEAST);
        let mut openings = Vec::new();
        let whole = |path: &str| open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map(File::from);
        openings.extend(SYSTEM.iter().filter_map(|path| Some((whole(path).ok()?, read))));
        let device = AccessFs::ReadFile | AccessFs::WriteFile;
        openings.extend(DEVICES.iter().filter_map(|path| Some((whole(path).ok()?, device))));
        let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(workspace) = open(&confinement.directory, folder, Mode::empty()) else { return openings };
        let lists = [(&confinement.readable, read), (&confinement.writable, AccessFs::from_all(LEAST))];
        for (paths, access) in lists {
            openings.extend(paths.iter().filter_map(|path| Some((inside(&workspace, path)?, access))));
        }
        openings
    }

    /// The file or folder at `path`, no link followed: one that was swapped in meanwhile opens nothing.
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
