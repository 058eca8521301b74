//! Runs this test program again as another process: to be killed, to run as another user, to hold a lock. Such a
//! process runs an ignored test, which receives a path and prints what it has done.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const PLACE: &str = "FOREWORD_TEST_CHILD_PLACE";
/// The prefix of lines for the parent; other lines come from the test harness.
const SAID: &str = "child says: ";

/// Runs the ignored test `name` in another process, on `place`.
pub(crate) fn command(program: &Path, name: &str, place: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args([name, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(PLACE, place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// As [`command`], with this program, started at once.
pub(crate) fn spawn(name: &str, place: &str) -> Child {
    command(&env::current_exe().unwrap(), name, place).spawn().unwrap()
}

/// In the child: the path to work on. `None` if the ignored tests are run by hand.
pub(crate) fn place() -> Option<String> {
    env::var(PLACE).ok()
}

/// In the child: prints a line for the parent.
pub(crate) fn say(line: &str) {
    println!("{SAID}{line}");
}

/// The child's lines until it exits.
pub(crate) fn output_lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The harness writes the name of the test without a line end.
    lines.map_while(Result::ok).filter_map(|line| Some(line.split_once(SAID)?.1.to_owned()))
}

/// The user id of these processes.
fn user(folder: &Path) -> u32 {
    let file = folder.join("whose");
    fs::write(&file, "").unwrap();
    fs::metadata(&file).unwrap().uid()
}

/// Runs the ignored test `name` as an unprivileged user, because permissions don't apply to root, and returns its
/// lines. `folder` must be accessible to everybody.
pub(crate) fn as_somebody(folder: &Path, name: &str, place: &Path) -> Vec<String> {
    let place = place.to_str().unwrap();
    let program = env::current_exe().unwrap();
    let mut child = if user(folder) == 0 {
        let nobody = |program: &Path| command(program, name, place).uid(65_534).gid(65_534).spawn();
        // That user may not have access to this program.
        nobody(&program).or_else(|_| nobody(&copy(&program, folder))).unwrap()
    } else {
        command(&program, name, place).spawn().unwrap()
    };
    let lines = output_lines(&mut child).collect();
    assert!(child.wait().unwrap().success(), "{lines:?}");
    lines
}

fn copy(program: &Path, folder: &Path) -> PathBuf {
    let copy = folder.join("program");
    fs::copy(program, &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    copy
}
