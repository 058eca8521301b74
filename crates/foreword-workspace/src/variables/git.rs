//! `git:branch` and `git:status`, from the `git` program with a timeout. Any failure (no repository, no git, timeout)
//! makes the variable absent. Never prompts, takes no lock, changes nothing.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::VariableValues;
use crate::one_line::one_line;

/// How to run `git`.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// use foreword_workspace::variables::git::Git;
/// let outside_any_repository = folder.path();
/// assert_eq!(Git::default().values(&["branch"], outside_any_repository)["branch"], None);
/// ```
#[derive(Debug, Clone)]
pub struct Git {
    /// The program to run.
    pub program: PathBuf,
    /// The timeout of one command.
    pub time_limit: Duration,
    /// The maximum output in bytes; longer output is truncated at a line end and marked.
    pub output_limit: usize,
}

impl Default for Git {
    fn default() -> Self {
        Self { program: "git".into(), time_limit: Duration::from_secs(2), output_limit: 64 * 1024 }
    }
}

/// Environment variables removed for `git`, which could select another repository, or a program that prompts the user.
const REMOVED_VARIABLES: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
];

/// Options of every command. They disable the file system monitor, a program that the repository's own configuration
/// can name.
const GIT_OPTIONS: [&str; 9] = [
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.quotePath=true",
    "-c",
    "color.ui=false",
    "--literal-pathspecs",
];

impl Git {
    /// The values of `names` in `directory`; an unknown name is absent.
    #[must_use]
    pub fn values(&self, names: &[&str], directory: &Path) -> VariableValues {
        names.iter().map(|name| ((*name).to_owned(), self.value(name, directory))).collect()
    }

    fn value(&self, name: &str, directory: &Path) -> Option<String> {
        match name {
            "branch" => {
                let answer = self.ask(&["rev-parse", "--abbrev-ref", "HEAD"], directory)?;
                let branch = answer.text.trim_end_matches('\n');
                (!branch.is_empty()).then(|| one_line(branch).into_owned())
            }
            "status" => {
                let answer = self.ask(&["status", "--short"], directory)?;
                let lines: Vec<_> = answer.text.lines().map(one_line).collect();
                let cut = if answer.was_cut { "\n… (cut)" } else { "" };
                Some(format!("{}{cut}", lines.join("\n")))
            }
            _ => None,
        }
    }

    fn ask(&self, question: &[&str], directory: &Path) -> Option<Answer> {
        let deadline = Instant::now() + self.time_limit;
        let mut child = self.command(question, directory).spawn().ok()?;
        let answer = child.stdout.take().and_then(|output| self.listen(output, deadline));
        match answer {
            // The output limit is reached, so the rest is not awaited.
            Some(answer) if answer.was_cut => {
                end(&mut child);
                Some(answer)
            }
            Some(answer) if ended_well(&mut child, deadline) => Some(answer),
            _ => {
                end(&mut child);
                None
            }
        }
    }

    fn command(&self, question: &[&str], directory: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(GIT_OPTIONS).args(question).current_dir(directory);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        for variable in REMOVED_VARIABLES {
            command.env_remove(variable);
        }
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        #[cfg(unix)]
        {
            // A process group of its own, so that child processes of git can be killed too.
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
        }
        command
    }

    /// Reads in a separate thread, since a pipe read has no timeout; the thread ends when the process is killed.
    fn listen(&self, output: ChildStdout, deadline: Instant) -> Option<Answer> {
        let (sender, receiver) = mpsc::channel();
        let limit = self.output_limit;
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = output.take(limit as u64 + 1).read_to_end(&mut bytes);
            // After a timeout the receiver is gone.
            let _ = sender.send(read.map(|_| bytes));
        });
        let left = deadline.saturating_duration_since(Instant::now());
        let bytes = receiver.recv_timeout(left).ok()?.ok()?;
        Some(Answer::from_bytes(&bytes, limit))
    }
}

struct Answer {
    text: String,
    was_cut: bool,
}

impl Answer {
    fn from_bytes(bytes: &[u8], limit: usize) -> Self {
        if bytes.len() <= limit {
            return Self { text: String::from_utf8_lossy(bytes).into_owned(), was_cut: false };
        }
        let whole_lines =
            bytes[..limit].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        Self { text: String::from_utf8_lossy(&bytes[..whole_lines]).into_owned(), was_cut: true }
    }
}

fn ended_well(child: &mut Child, deadline: Instant) -> bool {
    let mut pause = Duration::from_micros(100);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < deadline => thread::sleep(pause),
            Ok(None) | Err(_) => return false,
        }
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// Kills the process group. An error means that it has ended already.
fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
