//! This test program, run again as another process: to be killed, to be another user, to hold a lock. What such a process
//! does is written as an ignored test, which gives up the path it works on and prints what it has done.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const PLACE: &str = "FOREWORD_TEST_CHILD_PLACE";
/// What a line begins with that is meant for the parent; the rest is the test harness talking.
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

/// As [`command`], from where this program stands, begun at once.
pub(crate) fn spawn(name: &str, place: &str) -> Child {
    command(&env::current_exe().unwrap(), name, place).spawn().unwrap()
}

/// In the child: what it works on. `None` if somebody runs all ignored tests by hand.
pub(crate) fn place() -> Option<String> {
    env::var(PLACE).ok()
}

/// In the child: tells the parent.
pub(crate) fn say(line: &str) {
    println!("{SAID}{line}");
}

/// What a child says from now on, line by line, until it ends.
pub(crate) fn said(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The harness writes the name of the test without a line end.
    lines.map_while(Result::ok).filter_map(|line| Some(line.split_once(SAID)?.1.to_owned()))
}

/// Whose processes these are.
fn user(folder: &Path) -> u32 {
    let file = folder.join("whose");
    fs::write(&file, "").unwrap();
    fs::metadata(&file).unwrap().uid()
}

/// Runs the ignored test `name` as somebody for whom permissions count, root being nobody of the kind, and gives what it
/// says. `folder` is one that everybody may enter.
pub(crate) fn as_somebody(folder: &Path, name: &str, place: &Path) -> Vec<String> {
    let place = place.to_str().unwrap();
    let program = env::current_exe().unwrap();
    let mut child = if user(folder) == 0 {
        let nobody = |program: &Path| command(program, name, place).uid(65_534).gid(65_534).spawn();
        // They may have no way to where this program stands.
        nobody(&program).or_else(|_| nobody(&copy(&program, folder))).unwrap()
    } else {
        command(&program, name, place).spawn().unwrap()
    };
    let lines = said(&mut child).collect();
    assert!(child.wait().unwrap().success(), "{lines:?}");
    lines
}

fn copy(program: &Path, folder: &Path) -> PathBuf {
    let copy = folder.join("program");
    fs::copy(program, &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    copy
}
