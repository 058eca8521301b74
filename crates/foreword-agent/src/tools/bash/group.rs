//! All processes of a command: those in its process group, and those that left it, which are found by a marker in their
//! environment (Linux).

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;

/// The environment variable with the marker.
pub(super) const MARK: &str = "FOREWORD_CALL";
/// The maximum number of passes to find processes started during the kill.
#[cfg(target_os = "linux")]
const ROUNDS: usize = 10;

/// The processes of a command. Dropping it kills them.
pub(super) struct Group {
    leader: Option<Pid>,
    mark: String,
    /// Whether processes that left the group are killed even if the command exits by itself.
    keeps_nothing: bool,
}

impl Group {
    /// The group of a process that was started as its leader.
    pub(super) fn of(leader: &Child, mark: String, keeps_nothing: bool) -> Self {
        let leader = leader.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self { leader, mark, keeps_nothing }
    }

    /// Whether the group has members. The kernel does not reuse the id of an existing group.
    pub(super) fn has_members(&self) -> bool {
        self.leader.is_some_and(|leader| test_kill_process_group(leader).is_ok())
    }

    pub(super) fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // The group may be gone. A stopped process receives the signal once it continues.
            let _told = kill_process_group(leader, signal);
            let _continued = kill_process_group(leader, Signal::CONT);
        }
    }

    /// Kills all processes, including those that left the group.
    pub(super) fn kill(&mut self) {
        if let Some(leader) = self.leader.take() {
            let _gone_already = kill_process_group(leader, Signal::KILL);
            kill_marked(&self.mark);
        }
    }

    /// Kills the remaining members of the group after its leader has exited. Processes that left the group survive,
    /// unless the command is confined.
    pub(super) fn kill_after_exit(&mut self) {
        if self.keeps_nothing {
            return self.kill();
        }
        if let Some(leader) = self.leader.take() {
            let _gone_already = kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Kills every process with `mark`.
#[cfg(target_os = "linux")]
fn kill_marked(mark: &str) {
    for _ in 0..ROUNDS {
        if kill_marked_once(mark) == 0 {
            return;
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn kill_marked(_mark: &str) {}

/// Kills the processes that have the marker now, and returns their number.
#[cfg(target_os = "linux")]
fn kill_marked_once(mark: &str) -> usize {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    let wanted = format!("{MARK}={mark}");
    let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let mut killed = 0;
    for pid in numbers.filter_map(Pid::from_raw) {
        // The pidfd is opened before the check, so that the same process is killed.
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        let Ok(environment) = std::fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())) else {
            continue;
        };
        if environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes()) {
            killed += usize::from(pidfd_send_signal(&handle, Signal::KILL).is_ok());
        }
    }
    killed
}
