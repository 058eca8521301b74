//! A program that is an MCP server: started with a minimal environment in its own process group, and terminated with
//! its child processes.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use foreword_workspace::config::mcp::McpProgram;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::McpEnvironment;
use super::bounded_lines::{BoundedLines, Flooded, MAX_MESSAGE_BYTES};
use super::stderr_tail::StderrTail;

/// How long it may take to exit after its input is closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long it may take to exit after SIGTERM.
const SIGTERM_TIMEOUT: Duration = Duration::from_secs(1);

/// A running program. Dropping it kills its process group.
pub(super) struct Program {
    child: Child,
    #[cfg(unix)]
    group: Option<rustix::process::Pid>,
    listening: Option<AbortHandle>,
}

/// A program and its pipes.
pub(super) struct Started {
    pub(super) program: Program,
    pub(super) reader: BoundedLines<ChildStdout>,
    pub(super) writer: ChildStdin,
    pub(super) flooded: Flooded,
}

/// Starts the program. Its standard error goes to `words`.
pub(super) fn start(
    config: &McpProgram,
    environment: &McpEnvironment,
    words: &StderrTail,
) -> io::Result<Started> {
    let mut command = Command::new(&config.command);
    command
        .args(&config.args)
        .current_dir(folder(&environment.directory, config.cwd.as_deref())?)
        .env_clear()
        .envs(environment.environment.iter().map(|(name, value)| (name, value)))
        .envs(config.env_from.iter().filter_map(|name| Some((name, (environment.variable)(name)?))))
        .envs(config.env.iter().map(|(name, value)| (name, value.reveal())))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn()?;
    let gone = || io::Error::other("it can't be talked to");
    let writer = child.stdin.take().ok_or_else(gone)?;
    let (reader, flooded) = BoundedLines::new(child.stdout.take().ok_or_else(gone)?, MAX_MESSAGE_BYTES);
    let listening =
        child.stderr.take().map(|stderr| tokio::spawn(listen(stderr, words.clone())).abort_handle());
    #[cfg(unix)]
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    let program = Program {
        child,
        #[cfg(unix)]
        group,
        listening,
    };
    Ok(Started { program, reader, writer, flooded })
}

/// The working directory: below the workspace, links resolved.
fn folder(workspace: &Path, below: Option<&str>) -> io::Result<PathBuf> {
    let workspace = workspace.canonicalize()?;
    let Some(below) = below else { return Ok(workspace) };
    let folder = workspace.join(below).canonicalize()?;
    if folder.starts_with(&workspace) {
        Ok(folder)
    } else {
        Err(io::Error::other("`cwd` leads out of the workspace"))
    }
}

async fn listen(mut stderr: ChildStderr, words: StderrTail) {
    let mut buffer = [0; 4_096];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        words.push(&buffer[..read]);
    }
}

impl Program {
    /// Waits for the program to exit, sends SIGTERM, then SIGKILL. Returns its exit status if it exited by itself.
    pub(super) async fn end(mut self) -> Option<String> {
        let by_itself = timeout(EXIT_TIMEOUT, self.child.wait()).await;
        let was_signalled = by_itself.is_err();
        if was_signalled {
            self.signal_end();
            // It is killed next in any case.
            let _ = timeout(SIGTERM_TIMEOUT, self.child.wait()).await;
        }
        self.kill_group();
        let status = self.child.wait().await.ok()?;
        // An exit status after SIGTERM is not reported.
        (!was_signalled).then(|| format!("it ended with {status}"))
    }

    #[cfg(unix)]
    fn signal_end(&self) {
        if let Some(group) = self.group {
            // The process group may be gone.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
        }
    }

    #[cfg(not(unix))]
    fn signal_end(&mut self) {
        let _ = self.child.start_kill();
    }

    #[cfg(unix)]
    fn kill_group(&mut self) {
        if let Some(group) = self.group.take() {
            let _gone_already = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }

    #[cfg(not(unix))]
    fn kill_group(&mut self) {
        let _ = self.child.start_kill();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill_group();
        if let Some(listening) = &self.listening {
            listening.abort();
        }
    }
}
