//! Times a whole `foreword build` process next to `cat` of the same files, and measures its peak memory. Builds the
//! program, or uses `FOREWORD_BIN`.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::program::program;
use crate::sample::{Sample, Scale};
use crate::table::Table;
use crate::timing::{Comparison, median};

const ROUNDS: usize = 20;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    table.section("Cold start of `foreword build`, process included", "`cat` of the same files");
    let program = program()?;
    table.note(&format!("{}", program.display()));
    let sample = Sample::write(Scale::BASE)?;
    let build = || command(&program, &sample);
    let mut cat = Command::new("cat");
    cat.args(&sample.files);
    // The first run loads the program from disk.
    run(&mut build())?;
    run(&mut cat)?;
    table.compare(&format!("{} files", sample.files.len() + 1), &rounds(&mut build(), &mut cat)?, None);
    let mut version = Command::new(&program);
    version.arg("--version");
    table.compare("`foreword --version`, for scale", &rounds(&mut version, &mut cat)?, None);
    match (0..5).map(|_| peak_kilobytes(build())).collect::<io::Result<Vec<_>>>() {
        Ok(mut peaks) => table.note(&format!("peak memory: {:.1} MB", median(&mut peaks) / 1024.0)),
        Err(error) => table.note(&format!("peak memory: not measured here ({error})")),
    }
    Ok(())
}

fn command(program: &Path, sample: &Sample) -> Command {
    let mut command = Command::new(program);
    command.args(["build", "--user", "alice", "--workspace"]).arg(sample.path());
    command
}

fn rounds(subject: &mut Command, peer: &mut Command) -> io::Result<Comparison> {
    let rounds = (0..ROUNDS).map(|_| Ok((run(subject)?, run(peer)?))).collect::<io::Result<Vec<_>>>()?;
    Ok(Comparison::of(&rounds))
}

/// The wall time until the process has exited and its output was read.
fn run(command: &mut Command) -> io::Result<Duration> {
    let started = Instant::now();
    let output = command.stderr(Stdio::null()).output()?;
    let time = started.elapsed();
    if output.status.success() && !output.stdout.is_empty() {
        Ok(time)
    } else {
        Err(io::Error::other(format!("{command:?} ended with {}", output.status)))
    }
}

/// The peak memory of a process that blocks at its end, because its output does not fit into the pipe.
#[cfg(target_os = "linux")]
fn peak_kilobytes(mut command: Command) -> io::Result<f64> {
    let (mut reader, writer) = io::pipe()?;
    rustix::pipe::fcntl_setpipe_size(&writer, 4096)?;
    let mut child = command.stdout(writer).stderr(Stdio::null()).spawn()?;
    // Drops our copy of the write end, so that the read ends.
    drop(command);
    reader.read_exact(&mut [0])?;
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    io::copy(&mut reader, &mut io::sink())?;
    child.wait()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok())
        .ok_or_else(|| io::Error::other("no VmHWM in /proc"))
}

#[cfg(not(target_os = "linux"))]
fn peak_kilobytes(_: Command) -> io::Result<f64> {
    Err(io::Error::other("only Linux tells"))
}
