//! A child process, its CPU time and its memory.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Found;

/// A server process. Dropping it kills it and its children.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Process {
    /// Starts a command with a free port, and waits until it listens.
    pub(crate) fn start(command: impl FnOnce(u16) -> Command, timeout: Duration) -> Found<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut command = command(port);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut process = Self { child, address };
        let until = Instant::now() + timeout;
        while TcpStream::connect(address).is_err() {
            if let Some(status) = process.child.try_wait()? {
                return Err(format!("{command:?} ended with {status}").into());
            }
            if Instant::now() > until {
                return Err(format!("{command:?} does not listen").into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(process)
    }

    /// The CPU time so far, including child processes.
    pub(crate) fn processor_time(&self) -> Duration {
        family(self.child.id()).into_iter().map(|id| processor_time(id).unwrap_or_default()).sum()
    }

    /// The resident memory in MB.
    pub(crate) fn memory(&self) -> f64 {
        family(self.child.id()).into_iter().filter_map(|id| status(id, "VmRSS:").ok()).sum()
    }

    /// What the resident memory consists of, in kilobytes.
    pub(crate) fn memory_parts(&self) -> BTreeMap<MemoryPart, u64> {
        memory_parts(self.child.id()).unwrap_or_default()
    }

    /// The peak memory in MB.
    pub(crate) fn peak_memory(&self) -> f64 {
        family(self.child.id()).into_iter().filter_map(|id| status(id, "VmHWM:").ok()).sum()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        for id in family(self.child.id()).into_iter().rev() {
            let _ = Command::new("kill").arg("-9").arg(id.to_string()).stderr(Stdio::null()).status();
        }
        let _ = self.child.wait();
    }
}

/// A part of a process's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MemoryPart {
    /// Pages of the binary.
    Program,
    /// Pages of shared libraries.
    Libraries,
    /// Written pages of the binary and of libraries.
    Relocations,
    /// Stacks of threads.
    Stacks,
    /// The allocator's.
    Heap,
    /// Other mapped files.
    Files,
}

/// Adds up the mappings in `/proc/ID/smaps`.
fn memory_parts(id: u32) -> io::Result<BTreeMap<MemoryPart, u64>> {
    let program = fs::read_link(format!("/proc/{id}/exe"))?;
    let smaps = fs::read_to_string(format!("/proc/{id}/smaps"))?;
    let (mut parts, mut part) = (BTreeMap::new(), MemoryPart::Heap);
    for line in smaps.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match &words[..] {
            ["Rss:", kilobytes, ..] => {
                *parts.entry(part).or_default() += kilobytes.parse::<u64>().unwrap_or(0);
            }
            [range, rights, _, _, _, name @ ..] if range.contains('-') => {
                part = part_of(range, rights, name.first().copied().unwrap_or(""), &program);
            }
            _ => {}
        }
    }
    Ok(parts)
}

/// The size of a thread's stack in the Rust standard library, with the guard page of the C library.
const STACK_BYTES: [u64; 2] = [2 * 1024 * 1024, 2 * 1024 * 1024 + 4096];

fn part_of(range: &str, rights: &str, name: &str, program: &Path) -> MemoryPart {
    let bound = |text: &str| u64::from_str_radix(text, 16).unwrap_or(0);
    let size = range.split_once('-').map_or(0, |(from, to)| bound(to).saturating_sub(bound(from)));
    let (is_program, is_library) = (Path::new(name) == program, name.contains(".so"));
    match name {
        "[stack]" => MemoryPart::Stacks,
        "" if STACK_BYTES.contains(&size) => MemoryPart::Stacks,
        _ if (is_program || is_library) && rights.starts_with("rw") => MemoryPart::Relocations,
        _ if is_program => MemoryPart::Program,
        _ if is_library => MemoryPart::Libraries,
        _ if name.starts_with('/') => MemoryPart::Files,
        _ => MemoryPart::Heap,
    }
}

/// A process and its children.
fn family(id: u32) -> Vec<u32> {
    let mut all = vec![id];
    let mut next = 0;
    while let Some(parent) = all.get(next).copied() {
        let children =
            fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
        all.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        next += 1;
    }
    all
}

/// In nanoseconds, over all live threads: coarser clocks hide a request.
fn processor_time(id: u32) -> io::Result<Duration> {
    let mut nanos = 0;
    for task in fs::read_dir(format!("/proc/{id}/task"))? {
        let times = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        nanos += times.split_whitespace().next().and_then(|time| time.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(nanos))
}

fn status(id: u32, name: &str) -> io::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.map(|kilobytes| kilobytes / 1024.0).ok_or_else(|| io::Error::other("not in /proc"))
}
