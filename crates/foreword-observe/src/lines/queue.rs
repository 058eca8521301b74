//! A bounded queue with a writer thread. Adding a line never blocks. Lines that could not be written are kept and
//! retried. When the queue is full, lines are dropped and counted, and the next successful write includes a line with
//! the count.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use foreword_core::backoff::Backoff;
use parking_lot::Mutex;

use super::layer::LineSink;

/// The capacity of the queue in lines and in bytes.
const MAX_LINES: usize = 8_192;
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// The maximum number of bytes per write.
const MAX_BATCH_BYTES: usize = 256 * 1024;
/// How long to collect lines before a write: waking the thread for each line costs more than writing it.
const BATCH_DELAY: Duration = Duration::from_millis(5);
/// The delays before a retry.
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(500), max: Duration::from_secs(30) };

/// The destination of lines.
pub trait LineWriter: Send + 'static {
    /// Writes whole lines. On failure it reports how many lines at the end were not written.
    ///
    /// # Errors
    /// If not all lines were written.
    fn write(&mut self, lines: &[String]) -> Result<(), Unwritten>;
}

/// Lines that were not written. They are kept and retried.
#[derive(Debug)]
pub struct Unwritten {
    /// The number of lines.
    pub lines: usize,
    /// The I/O error.
    pub reason: io::Error,
}

/// The sending side. Clones share one queue.
#[derive(Debug, Clone)]
pub struct LineQueue(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    sender: SyncSender<Job>,
    waiting: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

enum Job {
    Line(String),
    /// Waits until all earlier lines have been written; receives whether they were.
    Flush(SyncSender<bool>),
    Stop,
}

impl LineQueue {
    /// Starts a queue for `writer`. `notice` formats the line that reports dropped lines.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(
        writer: impl LineWriter,
        notice: impl Fn(u64) -> String + Send + 'static,
    ) -> io::Result<Self> {
        Self::with_room(writer, notice, MAX_LINES)
    }

    fn with_room(
        writer: impl LineWriter,
        notice: impl Fn(u64) -> String + Send + 'static,
        lines: usize,
    ) -> io::Result<Self> {
        let (sender, jobs) = sync_channel(lines);
        let (waiting, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicU64::new(0)));
        let worker = Worker {
            writer,
            notice: Box::new(notice),
            waiting: Arc::clone(&waiting),
            dropped: Arc::clone(&dropped),
            reported: 0,
            lines: Vec::new(),
            failing: None,
        };
        let thread =
            std::thread::Builder::new().name("foreword-log".into()).spawn(move || worker.run(&jobs))?;
        Ok(Self(Arc::new(Inner { sender, waiting, dropped, thread: Mutex::new(Some(thread)) })))
    }

    /// The number of dropped lines since the start.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    /// Waits up to `timeout` until all earlier lines have been written. Returns whether they were.
    pub fn flush(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let (done, end) = sync_channel(1);
        let mut job = Job::Flush(done);
        loop {
            match self.0.sender.try_send(job) {
                Ok(()) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    return end.recv_timeout(left).unwrap_or(false);
                }
                Err(TrySendError::Full(back)) if Instant::now() < deadline => job = back,
                Err(_) => return false,
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Writes the remaining lines and stops, within `timeout`. Later lines are dropped.
    pub fn close(&self, timeout: Duration) {
        let written = self.flush(timeout);
        // Do not join a thread that is blocked in a write.
        if self.0.sender.try_send(Job::Stop).is_ok() && written {
            let thread = self.0.thread.lock().take();
            // A thread that panicked has nothing left to write.
            let _ = thread.map(JoinHandle::join);
        }
    }
}

/// Each queue receives each line.
impl LineSink for Vec<LineQueue> {
    fn take(&self, line: String) {
        let Some((last, others)) = self.split_last() else { return };
        others.iter().for_each(|queue| queue.take(line.clone()));
        last.take(line);
    }
}

impl LineSink for LineQueue {
    fn take(&self, line: String) {
        let length = line.len();
        let fits = self.0.waiting.fetch_add(length, Ordering::Relaxed) + length <= MAX_BYTES;
        if !fits || self.0.sender.try_send(Job::Line(line)).is_err() {
            self.0.waiting.fetch_sub(length, Ordering::Relaxed);
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

struct Worker<W> {
    writer: W,
    /// Formats the line that reports dropped lines.
    notice: Box<dyn Fn(u64) -> String + Send>,
    waiting: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
    /// How many dropped lines have been reported.
    reported: u64,
    /// The lines of the next write.
    lines: Vec<String>,
    failing: Option<Failing>,
}

struct Failing {
    again: Instant,
    failures: u32,
}

impl<W: LineWriter> Worker<W> {
    fn run(mut self, jobs: &Receiver<Job>) {
        loop {
            let job = match &self.failing {
                None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(failing) => jobs.recv_timeout(failing.again.saturating_duration_since(Instant::now())),
            };
            let end = match job {
                Ok(job) => {
                    if matches!(job, Job::Line(_)) {
                        std::thread::sleep(BATCH_DELAY);
                    }
                    self.collect(job, jobs)
                }
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Job::Stop),
            };
            // A caller that waits needs the result now.
            if end.is_some() || self.failing.as_ref().is_none_or(|failing| failing.again <= Instant::now()) {
                self.write();
            }
            match end {
                // The waiting caller may be gone.
                Some(Job::Flush(done)) => drop(done.try_send(self.lines.is_empty())),
                Some(Job::Stop) => return,
                Some(Job::Line(_)) | None => {}
            }
        }
    }

    /// Collects the lines of one write. Any other job ends the batch.
    fn collect(&mut self, first: Job, jobs: &Receiver<Job>) -> Option<Job> {
        let mut bytes = 0;
        let mut next = Some(first);
        while let Some(job) = next {
            let Job::Line(line) = job else { return Some(job) };
            bytes += line.len();
            self.lines.push(line);
            next = if bytes < MAX_BATCH_BYTES { jobs.try_recv().ok() } else { None };
        }
        None
    }

    fn write(&mut self) {
        if !self.lines.is_empty() {
            let lines = std::mem::take(&mut self.lines);
            let left = self.attempt(&lines);
            let written = lines.len().saturating_sub(left);
            let bytes = lines[..written].iter().map(String::len).sum();
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
            self.lines = lines;
            self.lines.drain(..written);
        }
        // Dropped lines are later than the queued ones.
        let dropped = self.dropped.load(Ordering::Relaxed);
        if self.lines.is_empty() && dropped > self.reported {
            let notice = (self.notice)(dropped - self.reported);
            if self.attempt(&[notice]) == 0 {
                self.reported = dropped;
            }
        }
        if self.lines.is_empty() && dropped == self.reported {
            self.failing = None;
        }
    }

    /// Writes these lines. Returns how many were not written.
    fn attempt(&mut self, lines: &[String]) -> usize {
        match self.writer.write(lines) {
            Ok(()) => {
                self.failing = None;
                0
            }
            Err(unwritten) => {
                let failures = self.failing.as_ref().map_or(1, |failing| failing.failures + 1);
                self.failing = Some(Failing { again: Instant::now() + BACKOFF.delay(failures), failures });
                unwritten.lines
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Condvar;

    /// Writes to memory, when permitted.
    #[derive(Clone, Default)]
    struct Memory(Arc<(Mutex<State>, Condvar)>);

    #[derive(Default)]
    struct State {
        lines: Vec<String>,
        held: bool,
        broken: bool,
    }

    impl Memory {
        fn set(&self, change: impl FnOnce(&mut State)) {
            change(&mut self.0.0.lock());
            self.0.1.notify_all();
        }

        fn lines(&self) -> Vec<String> {
            self.0.0.lock().lines.clone()
        }
    }

    impl LineWriter for Memory {
        fn write(&mut self, lines: &[String]) -> Result<(), Unwritten> {
            let mut state = self.0.0.lock();
            self.0.1.wait_while(&mut state, |state| state.held);
            if state.broken {
                return Err(Unwritten { lines: lines.len(), reason: io::Error::other("broken") });
            }
            state.lines.extend_from_slice(lines);
            Ok(())
        }
    }

    fn notice(lost: u64) -> String {
        format!("{lost} lines_lost\n")
    }

    const TEST_TIMEOUT: Duration = Duration::from_secs(20);

    #[test]
    fn flush_waits_for_lines_in_order() {
        let memory = Memory::default();
        let queue = LineQueue::start(memory.clone(), notice).unwrap();
        let expected: Vec<String> = (0..1_000).map(|n| format!("{n}\n")).collect();
        expected.iter().for_each(|line| queue.take(line.clone()));
        queue.close(TEST_TIMEOUT);
        assert_eq!((memory.lines(), queue.dropped()), (expected, 0));
    }

    #[test]
    fn writers_never_block_and_dropped_lines_are_reported_once() {
        let memory = Memory::default();
        memory.set(|state| state.held = true);
        let queue = LineQueue::with_room(memory.clone(), notice, 4).unwrap();
        (0..100).for_each(|n| queue.take(format!("{n}\n")));
        let dropped = queue.dropped();
        assert!(dropped >= 90, "{dropped}");
        assert!(!queue.flush(Duration::from_millis(10)));
        memory.set(|state| state.held = false);
        assert!(queue.flush(TEST_TIMEOUT));
        queue.take("last\n".to_owned());
        assert!(queue.flush(TEST_TIMEOUT));
        let notices: Vec<_> = memory.lines().into_iter().filter(|line| line.contains("lines_lost")).collect();
        let [notice] = notices.as_slice() else { panic!("{notices:?}") };
        assert!(*notice == super::tests::notice(dropped), "{notice}");
        assert_eq!(memory.lines().last().unwrap(), "last\n");
    }

    #[test]
    fn unwritten_lines_are_kept_and_retried() {
        let memory = Memory::default();
        memory.set(|state| state.broken = true);
        let queue = LineQueue::start(memory.clone(), notice).unwrap();
        queue.take("one\n".to_owned());
        assert!(!queue.flush(TEST_TIMEOUT));
        queue.take("two\n".to_owned());
        assert!(!queue.flush(TEST_TIMEOUT));
        memory.set(|state| state.broken = false);
        queue.take("three\n".to_owned());
        assert!(queue.flush(TEST_TIMEOUT));
        assert_eq!(
            (memory.lines(), queue.dropped()),
            (["one\n", "two\n", "three\n"].map(str::to_owned).into(), 0)
        );
    }

    #[test]
    fn unwritten_lines_stay_within_the_capacity() {
        let memory = Memory::default();
        memory.set(|state| state.broken = true);
        let queue = LineQueue::start(memory.clone(), notice).unwrap();
        let long = format!("{}\n", "x".repeat(1 << 20));
        (0..40).for_each(|_| {
            queue.take(long.clone());
            queue.flush(TEST_TIMEOUT);
        });
        let dropped = queue.dropped();
        assert!((20..40).contains(&dropped), "{dropped}");
        memory.set(|state| state.broken = false);
        assert!(queue.flush(TEST_TIMEOUT));
        let lines = memory.lines();
        assert_eq!(lines.len() as u64, 40 - dropped + 1);
        assert_eq!(lines.last(), Some(&super::tests::notice(dropped)));
    }
}
