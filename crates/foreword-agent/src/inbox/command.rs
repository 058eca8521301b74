//! Runs the program that tells how the agent stands: in the workspace, with hardly any environment, for so long and so
//! much output and no more. Whatever it started ends with it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};

/// The most bytes it may print.
const MOST_OUTPUT: u64 = 64 * 1024;
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What the program prints, or why that can't be said.
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
        let read = out.take(MOST_OUTPUT + 1).read_to_end(&mut bytes).await;
        read.map_err(|error| format!("its output can't be read: {error}"))?;
    }
    if bytes.len() as u64 > MOST_OUTPUT {
        return Err(format!("it printed more than {MOST_OUTPUT} bytes and was stopped"));
    }
    let status = child.wait().await.map_err(|error| format!("it can't be waited for: {error}"))?;
    if !status.success() {
        return Err(format!("it ended with {status}"));
    }
    String::from_utf8(bytes).map_err(|_| "what it printed is no UTF-8".to_owned())
}

/// The program and everything it started; killed when this goes.
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
    async fn what_it_prints_is_given_and_nothing_of_the_environment_is_known_to_it() {
        let printed =
            run("echo balance: 5; env | grep -cv -E '^(PATH|LANG|PWD|_|OLDPWD|SHLVL)='", LONG).await;
        // `grep -c` says 0 and fails when nothing is left over.
        assert_eq!(printed, Err("it ended with exit status: 1".to_owned()));
        assert_eq!(run("echo balance: 5", LONG).await.as_deref(), Ok("balance: 5\n"));
    }

    #[tokio::test]
    async fn whatever_goes_wrong_is_said_in_words() {
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
    async fn what_takes_too_long_is_stopped_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let words = ["sh", "-c", "(sleep 2; touch late) & sleep 60"].map(str::to_owned);
        let error = output(&words, folder.path(), Duration::from_millis(100)).await.unwrap_err();
        assert!(error.contains("longer than 100 ms"), "{error}");
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        assert!(!folder.path().join("late").exists());
    }
}
