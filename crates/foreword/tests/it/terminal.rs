//! A pseudo-terminal: sends keys and reads the visible output.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::program::Home;

/// Only a failing test waits this long.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) const UP: &str = "\u{1b}[A";
pub(crate) const LEFT: &str = "\u{1b}[D";
pub(crate) const ENTER: &str = "\r";
pub(crate) const CTRL_C: &str = "\u{3}";
pub(crate) const CTRL_D: &str = "\u{4}";

/// The program at a terminal.
pub(crate) struct Terminal {
    child: Child,
    keys: File,
    shown: Arc<TerminalOutput>,
    /// The position up to which the test has read, without colours.
    read: usize,
}

#[derive(Default)]
struct TerminalOutput {
    bytes: Mutex<Vec<u8>>,
    more: Condvar,
}

impl Terminal {
    /// `foreword` with `args` at a terminal of this many columns.
    pub(crate) fn of(home: &Home, args: &[&str], columns: u16) -> Self {
        Self::start(home.command(args), columns)
    }

    /// Like `of`, without colour.
    pub(crate) fn without_colour(home: &Home, args: &[&str]) -> Self {
        let mut command = home.command(args);
        command.env("NO_COLOR", "1");
        Self::start(command, 100)
    }

    fn start(program: Command, columns: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let end = || Stdio::from(OpenOptions::new().read(true).write(true).open(&name).unwrap());
        // Ctrl-C only reaches the foreground process group of the terminal.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(program.get_program()).args(program.get_args());
        command.current_dir(program.get_current_dir().unwrap()).env_remove("NO_COLOR").env_remove("CLICOLOR");
        command.env("TERM", "xterm-256color");
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let keys = File::from(master);
        let shown = Arc::new(TerminalOutput::default());
        follow(keys.try_clone().unwrap(), Arc::clone(&shown));
        Self { child, keys, shown, read: 0 }
    }

    /// Sends keys.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Types a line.
    pub(crate) fn line(&mut self, line: &str) {
        self.keys(&format!("{line}{ENTER}"));
    }

    /// Waits until `words` appear after the current position, and returns the output up to there, without colours.
    pub(crate) fn until(&mut self, words: &str) -> String {
        let end = Instant::now() + TIMEOUT;
        let mut bytes = self.shown.bytes.lock().unwrap();
        loop {
            let all = plain(&bytes);
            let new = all.get(self.read..).unwrap_or_default();
            if let Some(at) = new.find(words) {
                let end = at + words.len();
                self.read += end;
                return new[..end].to_owned();
            }
            let left = end.saturating_duration_since(Instant::now());
            let ended = self.child.try_wait().unwrap();
            assert!(!left.is_zero(), "`{words}` is never shown ({ended:?}):\n{new}");
            bytes = self.shown.more.wait_timeout(bytes, left).unwrap().0;
        }
    }

    /// Moves the position back to the beginning.
    pub(crate) fn reread(self) -> Self {
        let mut from_the_beginning = self;
        from_the_beginning.read = 0;
        from_the_beginning
    }

    /// The whole output, unprocessed.
    pub(crate) fn everything(&self) -> String {
        String::from_utf8_lossy(&self.shown.bytes.lock().unwrap()).into_owned()
    }

    /// Sends Ctrl-D and returns the exit code.
    pub(crate) fn leave(mut self) -> i32 {
        self.keys(CTRL_D);
        let end = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap();
            }
            assert!(Instant::now() < end, "it does not end:\n{}", self.everything());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A failing test leaves no process behind.
impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the output until the terminal is closed.
fn follow(mut from: File, shown: Arc<TerminalOutput>) {
    std::thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut piece) {
            shown.bytes.lock().unwrap().extend(&piece[..count]);
            shown.more.notify_all();
        }
    });
}

/// The output without colours; erased lines are kept.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace("\r\u{1b}[2K", "\n");
    anstream::adapter::strip_str(&text).to_string().replace("\r\n", "\n")
}
