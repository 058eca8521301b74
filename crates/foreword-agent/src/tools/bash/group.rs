//! All processes of one command: those in its group, and those that left it. The latter are known by a mark in their
//! environment, where the system shows that (Linux).

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;

/// The variable that holds the mark.
pub(super) const MARK: &str = "FOREWORD_CALL";
/// How often is looked for processes that were started while others were killed.
#[cfg(target_os = "linux")]
const ROUNDS: usize = 10;

/// The processes of one command. When this is dropped they are killed.
pub(super) struct Group {
    leader: Option<Pid>,
    mark: String,
    /// Whether those that left the group end with the command even if it ends by itself.
    keeps_nothing: bool,
}

impl Group {
    /// The group of a process that was started as its leader.
    pub(super) fn of(leader: &Child, mark: String, keeps_nothing: bool) -> Self {
        let leader = leader.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self { leader, mark, keeps_nothing }
    }

    /// Whether anything is left in it. A number that is in use as a group is not given to another process.
    pub(super) fn has_members(&self) -> bool {
        self.leader.is_some_and(|leader| test_kill_process_group(leader).is_ok())
    }

    pub(super) fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // It may be gone, and then there is nothing to tell. Whoever was stopped hears it once it goes on.
            let _told = kill_process_group(leader, signal);
            let _continued = kill_process_group(leader, Signal::CONT);
        }
    }

    /// Kills everything, those that left the group too. Afterwards there is nothing left to kill.
    pub(super) fn kill(&mut self) {
        if let Some(leader) = self.leader.take() {
            let _gone_already = kill_process_group(leader, Signal::KILL);
            kill_marked(&self.mark);
        }
    }

    /// Kills what is left in the group once its leader has ended. Those that left it were meant to stay, unless nothing
    /// may.
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

/// Kills every process that carries `mark`.
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

/// Kills those that carry the mark now, and says how many there were.
#[cfg(target_os = "linux")]
fn kill_marked_once(mark: &str) -> usize {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    let wanted = format!("{MARK}={mark}");
    let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let mut killed = 0;
    for pid in numbers.filter_map(Pid::from_raw) {
        // Opened before it is looked at, so that it is the same process that is killed.
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
