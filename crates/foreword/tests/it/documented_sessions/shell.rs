//! Runs the commands of a page in one shell.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command as Process, Stdio};

use super::block::{Block, Command, Purpose};

/// The port in the pages.
const SHOWN_PORT: &str = "7777";
/// Waits for a server that was started in the background.
const UNTIL_SERVED: &str = "until (exec 3<>/dev/tcp/127.0.0.1/7777) 2>/dev/null; do sleep 0.05; done\n";
/// Separates the output of one command from the next.
const MARK: &str = "@@ended";

pub(super) struct Ran {
    pub(super) code: i32,
    pub(super) output: Vec<String>,
}

/// Runs the blocks of a page in an empty folder; pages other than the README have a workspace `home`.
pub(super) fn run(page: &str, blocks: &[Block]) -> Vec<Ran> {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let script = script(page, blocks, &port);
    let path = folder.path().join("session.sh");
    std::fs::write(&path, script).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_foreword"));
    let others = std::env::var("PATH").unwrap_or_default();
    let mut shell = Process::new("bash");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("FOREWORD_") {
            shell.env_remove(name);
        }
    }
    let work = folder.path().join("work");
    std::fs::create_dir(&work).unwrap();
    shell
        .arg(&path)
        .current_dir(&work)
        .env("PATH", format!("{}:{others}", program.parent().unwrap().display()))
        .env("BASE", &work)
        .env("HOME", &work)
        .env("TZ", "Etc/UTC")
        .env("LC_ALL", "C.UTF-8")
        .env("NO_COLOR", "1")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("http_proxy")
        .stdin(Stdio::null());
    let output = shell.output().unwrap();
    let setup = std::fs::read_to_string(work.join(".setup.log")).unwrap_or_default();
    let text = String::from_utf8_lossy(&output.stdout);
    let text = text.replace(work.to_str().unwrap(), "/tmp").replace(&port, SHOWN_PORT);
    let all = split(&text);
    let expected =
        blocks.iter().filter(|block| block.purpose == Purpose::Run).flat_map(|block| &block.commands).count();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(all.len(), expected, "{page}: the session broke off:\n{text}\n{errors}\n{setup}");
    all
}

fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

fn script(page: &str, blocks: &[Block], port: &str) -> String {
    let mut script = String::new();
    if page != "README.md" {
        script.push_str("foreword init home >.setup.log 2>&1\nexport FOREWORD_WORKSPACE=$PWD/home\n");
    }
    for block in blocks.iter().filter(|block| block.purpose == Purpose::Run) {
        if !block.setup.is_empty() {
            script.push_str(&format!("{{\n{}\n}} >>\"$BASE/.setup.log\" 2>&1\n", block.setup));
        }
        for command in &block.commands {
            script.push_str(&one(command));
            script.push_str(&format!("printf '\\n{MARK} %s\\n' \"$?\"\n"));
        }
    }
    script.push_str("kill $(jobs -p) 2>/dev/null\nwait\nexit 0\n");
    let listen = format!("foreword serve --listen 127.0.0.1:{SHOWN_PORT}");
    script.replace("foreword serve", &listen).replace(SHOWN_PORT, port)
}

fn one(command: &Command) -> String {
    let Some(words) = &command.until else {
        // Commands that read standard input get one word.
        let waits = if command.text.contains("foreword serve") { UNTIL_SERVED } else { "" };
        return format!("{{\n{}\n}} 2>&1 <<<hello\n{waits}", command.text);
    };
    // The log is written by a thread of its own, so its lines have no fixed place in the output.
    let text = command.text.split(" # ").next().unwrap_or_default().trim_end();
    format!(
        "{text} >\"$BASE/.until\" 2>&1 &\n\
         for _ in $(seq 600); do grep -qF -- '{words}' \"$BASE/.until\" && break; sleep 0.05; done\n\
         grep -v '^{{\"ts\":' \"$BASE/.until\"\nkill $! && wait $!\n"
    )
}

fn split(text: &str) -> Vec<Ran> {
    let mut all = Vec::new();
    let mut rest = text;
    let mark = format!("\n{MARK} ");
    while let Some((output, behind)) = rest.split_once(&mark) {
        let (code, behind) = behind.split_once('\n').unwrap_or((behind, ""));
        let lines = output.trim_end().lines().map(|line| line.trim_end().to_owned()).collect();
        all.push(Ran { code: code.trim().parse().unwrap(), output: lines });
        rest = behind;
    }
    all
}
