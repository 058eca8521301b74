//! A running shell command: started in its own process group, watched by its own task, and killed with its child
//! processes after a timeout or when the caller stops waiting.
//!
//! The task outlives the caller, so that an abandoned command gets SIGTERM before SIGKILL. If the task itself is
//! dropped, because the program ends, everything is killed at once.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::captured::Captured;
use super::group::{Group, MARK};
use super::sandbox::{self, Sandbox};

/// How long to wait for output after the shell has exited: background processes may hold the pipe open.
const OUTPUT_DRAIN_TIMEOUT: Duration = Duration::from_millis(250);

/// A command with its directory and limits.
pub(super) struct Job {
    pub(super) command: String,
    pub(super) directory: PathBuf,
    pub(super) environment: Vec<(String, String)>,
    /// Marks the processes of this call.
    pub(super) mark: String,
    pub(super) sandbox: Option<Sandbox>,
    pub(super) timeout: Duration,
    pub(super) grace: Duration,
    pub(super) max_output_bytes: usize,
}

/// A finished command.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) ending: Ending,
    pub(super) output: Captured,
}

/// How the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// It exited by itself.
    Exited(ExitStatus),
    /// It timed out.
    TimedOut,
    /// The caller stopped waiting.
    Abandoned,
}

/// Runs a command to its end. Dropping the future terminates it.
pub(super) async fn run(job: Job) -> io::Result<Finished> {
    let (wanted, unwanted) = oneshot::channel::<()>();
    let running = start(&job).await?;
    let watching = tokio::spawn(watch(running, job, unwanted));
    let finished = watching.await.map_err(io::Error::other)?;
    // Held until here: dropping it makes the task terminate the command.
    drop(wanted);
    Ok(finished)
}

/// A running process. Dropping it kills its process group.
struct Running {
    group: Group,
    child: Child,
    output: Receiver,
}

async fn start(job: &Job) -> io::Result<Running> {
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new("bash");
    command
        .args(["--noprofile", "--norc", "-c"])
        .arg(OsString::from(&job.command))
        .current_dir(&job.directory)
        .env_clear()
        .envs(job.environment.iter().map(|(name, value)| (name, value)))
        .env(MARK, &job.mark)
        .stdin(Stdio::null())
        // One pipe for both streams keeps the order of the lines.
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .kill_on_drop(true);
    let child = match &job.sandbox {
        None => command.spawn()?,
        Some(sandbox) => sandbox::spawn(command, sandbox.clone()).await?,
    };
    let group = Group::of(&child, job.mark.clone(), job.sandbox.is_some());
    let output = Receiver::from_owned_fd(OwnedFd::from(reader))?;
    Ok(Running { group, child, output })
}

async fn watch(mut running: Running, job: Job, unwanted: oneshot::Receiver<()>) -> Finished {
    let mut output = Captured::new(job.max_output_bytes);
    let deadline = Instant::now() + job.timeout;
    let ending = tokio::select! {
        status = running.until_exit(&mut output) => status.map_or(Ending::Abandoned, Ending::Exited),
        () = sleep_until(deadline) => Ending::TimedOut,
        _ = unwanted => Ending::Abandoned,
    };
    match ending {
        Ending::Exited(_) => running.end_what_is_left(&mut output, job.grace).await,
        Ending::TimedOut | Ending::Abandoned => running.end(&mut output, job.grace).await,
    }
    Finished { ending, output }
}

impl Running {
    /// Reads output until the shell exits.
    async fn until_exit(&mut self, output: &mut Captured) -> io::Result<ExitStatus> {
        let mut buffer = vec![0; 16 * 1024];
        let mut open = true;
        loop {
            tokio::select! {
                read = self.output.read(&mut buffer), if open => match read {
                    Ok(0) | Err(_) => open = false,
                    Ok(read) => output.push(&buffer[..read]),
                },
                status = self.child.wait() => return status,
            }
        }
    }

    /// Reads output until the pipe is closed, or until `deadline`; returns whether it was closed.
    async fn until_silent(&mut self, output: &mut Captured, deadline: Instant) -> bool {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            match timeout_at(deadline, self.output.read(&mut buffer)).await {
                Ok(Ok(0) | Err(_)) => return true,
                Ok(Ok(read)) => output.push(&buffer[..read]),
                Err(_) => return false,
            }
        }
    }

    /// Terminates the remaining processes of the group after the shell has exited.
    async fn end_what_is_left(&mut self, output: &mut Captured, grace: Duration) {
        let silent = self.until_silent(output, Instant::now() + OUTPUT_DRAIN_TIMEOUT).await;
        if !silent || self.group.has_members() {
            self.group.signal(Signal::TERM);
            let deadline = Instant::now() + grace;
            while self.group.has_members() && Instant::now() < deadline {
                let soon = (Instant::now() + Duration::from_millis(20)).min(deadline);
                if self.until_silent(output, soon).await {
                    sleep_until(soon).await;
                }
            }
        }
        self.group.kill_after_exit();
    }

    /// Sends SIGTERM to all processes, waits, then sends SIGKILL.
    async fn end(&mut self, output: &mut Captured, grace: Duration) {
        self.group.signal(Signal::TERM);
        let deadline = Instant::now() + grace;
        let exited = timeout_at(deadline, self.until_exit(output)).await.is_ok();
        while exited && self.group.has_members() && Instant::now() < deadline {
            sleep_until((Instant::now() + Duration::from_millis(20)).min(deadline)).await;
        }
        self.group.kill();
        // Reaps the process; its status is irrelevant.
        let _status = self.child.wait().await;
        self.until_silent(output, Instant::now() + OUTPUT_DRAIN_TIMEOUT).await;
    }
}
