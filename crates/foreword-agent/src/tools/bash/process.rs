//! A shell command at work: started in a group of its own, watched by a task of its own, and ended with everything it
//! started when its time is up or nobody waits for it any more.
//!
//! The task outlives whoever waits, so that a command that is no longer wanted is asked to end before it is made to. If
//! the task itself goes, because the program ends, everything is killed at once.

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
use super::confinement::{self, Confinement};
use super::group::{Group, MARK};

/// How long output is waited for once the shell has ended: what it left behind may hold the pipe open for ever.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// What to run, where and with which limits.
pub(super) struct Job {
    pub(super) command: String,
    pub(super) directory: PathBuf,
    pub(super) environment: Vec<(String, String)>,
    /// Tells the processes of this call from all others.
    pub(super) mark: String,
    pub(super) confinement: Option<Confinement>,
    pub(super) timeout: Duration,
    pub(super) grace: Duration,
    pub(super) max_output_bytes: usize,
}

/// A command that has ended.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) ending: Ending,
    pub(super) output: Captured,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// By itself.
    Exited(ExitStatus),
    /// Its time was up.
    TimedOut,
    /// Nobody waits for it any more.
    Abandoned,
}

/// Runs a command to its end. Whoever drops this ends it.
pub(super) async fn run(job: Job) -> io::Result<Finished> {
    let (wanted, unwanted) = oneshot::channel::<()>();
    let running = start(&job).await?;
    let watching = tokio::spawn(watch(running, job, unwanted));
    let finished = watching.await.map_err(io::Error::other)?;
    // Held until here: when it goes, the command is told to end.
    drop(wanted);
    Ok(finished)
}

/// A process that was started. If it is dropped, it is killed with all that belongs to it.
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
        // One pipe for both, so that lines come in the order they were printed in.
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .kill_on_drop(true);
    let child = match &job.confinement {
        None => command.spawn()?,
        Some(confinement) => confinement::spawn(command, confinement.clone()).await?,
    };
    let group = Group::of(&child, job.mark.clone(), job.confinement.is_some());
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
    /// Takes in what is printed until the shell ends.
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

    /// Takes in what is printed until nobody can print any more, or until `deadline`; says whether that was the end.
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

    /// The shell has ended: whatever it left in its group ends with it.
    async fn end_what_is_left(&mut self, output: &mut Captured, grace: Duration) {
        let silent = self.until_silent(output, Instant::now() + LAST_WORDS).await;
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

    /// Tells everything to end, waits a little, and then ends it.
    async fn end(&mut self, output: &mut Captured, grace: Duration) {
        self.group.signal(Signal::TERM);
        let deadline = Instant::now() + grace;
        let exited = timeout_at(deadline, self.until_exit(output)).await.is_ok();
        while exited && self.group.has_members() && Instant::now() < deadline {
            sleep_until((Instant::now() + Duration::from_millis(20)).min(deadline)).await;
        }
        self.group.kill();
        // Reaped here; it is dead whatever the answer.
        let _status = self.child.wait().await;
        self.until_silent(output, Instant::now() + LAST_WORDS).await;
    }
}
