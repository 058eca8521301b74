//! Runs the configured state command: in the workspace, with a minimal environment, a timeout and an output limit.
//! Kills its process group at the end.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};

/// Maximum size of its output.
const MAX_OUTPUT_BYTES: u64 = 64 * 1024;
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The program's standard output, or the error.
pub(super) async fn output(words: &[String], directory: &Path, timeout: Duration) -> Result<String, String> {
    let Some((program, arguments)) = words.split_first() else {
        return Err("no program is named".to_owned());
    };
    let spawned = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .env("PATH", PATH)
        .env("LANG", "C.UTF-8")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = spawned.map_err(|error| format!("it can't be started: {error}"))?;
    let group = Group::of(&child);
    let printed = tokio::time::timeout(timeout, printed(&mut child)).await;
    drop(group);
    match printed {
        Ok(printed) => printed,
        Err(_) => Err(format!("it took longer than {} ms and was stopped", timeout.as_millis())),
    }
}

async fn printed(child: &mut Child) -> Result<String, String> {
    let mut bytes = Vec::new();
    if let Some(out) = child.stdout.take() {
        let read = out.take(MAX_OUTPUT_BYTES + 1).read_to_end(&mut bytes).await;
        read.map_err(|error| format!("its output can't be read: {error}"))?;
    }
    if bytes.len() as u64 > MAX_OUTPUT_BYTES {
        return Err(format!("it printed more than {MAX_OUTPUT_BYTES} bytes and was stopped"));
    }
    let status = child.wait().await.map_err(|error| format!("it can't be waited for: {error}"))?;
    if !status.success() {
        return Err(format!("it ended with {status}"));
    }
    String::from_utf8(bytes).map_err(|_| "what it printed is no UTF-8".to_owned())
}

/// The process group of the program; killed on drop.
struct Group(Option<Pid>);

impl Group {
    fn of(leader: &Child) -> Self {
        Self(leader.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // It may have ended by itself.
            let _gone_already = kill_process_group(leader, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn run(script: &str, timeout: Duration) -> Result<String, String> {
        let words = ["sh", "-c", script].map(str::to_owned);
        output(&words, &std::env::temp_dir(), timeout).await
    }

    const LONG: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn program_runs_with_a_minimal_environment() {
        let printed =
            run("echo balance: 5; env | grep -cv -E '^(PATH|LANG|PWD|_|OLDPWD|SHLVL)='", LONG).await;
        // `grep -c` says 0 and fails when nothing is left over.
        assert_eq!(printed, Err("it ended with exit status: 1".to_owned()));
        assert_eq!(run("echo balance: 5", LONG).await.as_deref(), Ok("balance: 5\n"));
    }

    #[tokio::test]
    async fn errors_name_the_cause() {
        let check = async |script: &str, expected: &str| {
            let error = run(script, LONG).await.unwrap_err();
            assert!(error.contains(expected), "{script}: {error}");
        };
        check("exit 3", "exit status: 3").await;
        check("yes", "more than 65536 bytes").await;
        check("printf '\\377'", "no UTF-8").await;
        let missing = output(&["/no/such/program".to_owned()], &std::env::temp_dir(), LONG).await;
        assert!(missing.unwrap_err().starts_with("it can't be started"));
    }

    #[tokio::test]
    async fn timeout_kills_the_process_group() {
        let folder = tempfile::tempdir().unwrap();
        let words = ["sh", "-c", "sleep 60 & echo $! > pid; sleep 60"].map(str::to_owned);
        let error = output(&words, folder.path(), Duration::from_millis(500)).await.unwrap_err();
        assert!(error.contains("longer than 500 ms"), "{error}");
        let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap();
        foreword_testkit::until("the background process ends", async || {
            // A zombie process counts as ended.
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z ")
        })
        .await;
    }
}
