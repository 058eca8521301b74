//! A queue in front of whatever writes lines, and the thread that empties it. Whoever puts a line in never waits. What can't
//! be written is kept and tried again; where there is no more room lines are dropped and counted, and the loss is told of in a
//! line as soon as one can be written again.

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::layer::LineSink;

/// How many lines may wait, and how many bytes.
const MOST_LINES: usize = 8_192;
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// How many bytes are written at once.
const BATCH: usize = 256 * 1024;
/// How long lines are gathered once there is one: to wake the thread for each of many takes longer than to write them.
const GATHER: Duration = Duration::from_millis(5);
/// How long is waited until something that failed is tried again: at first, and at most.
const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(30);

/// Where lines end up.
pub trait LineWriter: Send + 'static {
    /// Writes whole lines. If that fails, it says how many of them, from the end, are not written.
    ///
    /// # Errors
    /// If not all of them could be written.
    fn write(&mut self, lines: &[String]) -> Result<(), Unwritten>;
}

/// Lines that could not be written. They are kept and tried again.
#[derive(Debug)]
pub struct Unwritten {
    /// How many.
    pub lines: usize,
    /// Why.
    pub reason: io::Error,
}

/// The way in. Clones share one queue.
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
    /// Somebody waits until everything before it has been written, and is told whether it was.
    Flush(SyncSender<bool>),
    Stop,
}

impl LineQueue {
    /// A queue in front of `writer`. `notice` makes the line that tells of so many lost ones.
    ///
    /// # Errors
    /// If there is no thread to be had.
    pub fn start(
        writer: impl LineWriter,
        notice: impl Fn(u64) -> String + Send + 'static,
    ) -> io::Result<Self> {
        Self::with_room(writer, notice, MOST_LINES)
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
            told: 0,
            lines: Vec::new(),
            failing: None,
        };
        let thread =
            std::thread::Builder::new().name("foreword-log".into()).spawn(move || worker.run(&jobs))?;
        Ok(Self(Arc::new(Inner { sender, waiting, dropped, thread: Mutex::new(Some(thread)) })))
    }

    /// How many lines were dropped since the start.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    /// Waits until what was put in before has been written, and at most `patience`. Whether it has.
    pub fn flush(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
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

    /// Writes what waits and stops, within `patience`. What comes later is dropped.
    pub fn close(&self, patience: Duration) {
        let written = self.flush(patience);
        // Whoever hangs in a write is not waited for.
        if self.0.sender.try_send(Job::Stop).is_ok() && written {
            let thread = self.0.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
            // A thread that has panicked has nothing more to write.
            let _ = thread.map(JoinHandle::join);
        }
    }
}

/// All of them get each line.
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
        let fits = self.0.waiting.fetch_add(length, Ordering::Relaxed) + length <= MOST_BYTES;
        if !fits || self.0.sender.try_send(Job::Line(line)).is_err() {
            self.0.waiting.fetch_sub(length, Ordering::Relaxed);
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

struct Worker<W> {
    writer: W,
    /// Makes the line that tells of so many lost ones.
    notice: Box<dyn Fn(u64) -> String + Send>,
    waiting: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
    /// How many of the dropped lines have been told of.
    told: u64,
    /// What is to be written next.
    lines: Vec<String>,
    failing: Option<Failing>,
}

struct Failing {
    again: Instant,
    delay: Duration,
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
                        std::thread::sleep(GATHER);
                    }
                    self.collect(job, jobs)
                }
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Job::Stop),
            };
            // Whoever waits for the end wants to know now whether it can be written.
            if end.is_some() || self.failing.as_ref().is_none_or(|failing| failing.again <= Instant::now()) {
                self.write();
            }
            match end {
                // Nobody to tell if they have gone.
                Some(Job::Flush(done)) => drop(done.try_send(self.lines.is_empty())),
                Some(Job::Stop) => return,
                Some(Job::Line(_)) | None => {}
            }
        }
    }

    /// Takes as many lines as are written at once. What is no line ends them.
    fn collect(&mut self, first: Job, jobs: &Receiver<Job>) -> Option<Job> {
        let mut bytes = 0;
        let mut next = Some(first);
        while let Some(job) = next {
            let Job::Line(line) = job else { return Some(job) };
            bytes += line.len();
            self.lines.push(line);
            next = if bytes < BATCH { jobs.try_recv().ok() } else { None };
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
        // Those that were dropped came behind those that were kept.
        let dropped = self.dropped.load(Ordering::Relaxed);
        if self.lines.is_empty() && dropped > self.told {
            let notice = (self.notice)(dropped - self.told);
            if self.attempt(&[notice]) == 0 {
                self.told = dropped;
            }
        }
        if self.lines.is_empty() && dropped == self.told {
            self.failing = None;
        }
    }

    /// Writes these lines. How many of them could not be.
    fn attempt(&mut self, lines: &[String]) -> usize {
        match self.writer.write(lines) {
            Ok(()) => {
                self.failing = None;
                0
            }
            Err(unwritten) => {
                let delay =
                    self.failing.take().map_or(FIRST_RETRY, |failing| (failing.delay * 2).min(LAST_RETRY));
                self.failing = Some(Failing { again: Instant::now() + delay, delay });
                unwritten.lines
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Condvar;

    /// Writes into memory, when it is let.
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
            change(&mut self.0.0.lock().unwrap());
            self.0.1.notify_all();
        }

        fn lines(&self) -> Vec<String> {
            self.0.0.lock().unwrap().lines.clone()
        }
    }

    impl LineWriter for Memory {
        fn write(&mut self, lines: &[String]) -> Result<(), Unwritten> {
            let mut state = self.0.1.wait_while(self.0.0.lock().unwrap(), |state| state.held).unwrap();
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

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn lines_come_out_in_order_and_a_flush_waits_for_them() {
        let memory = Memory::default();
        let queue = LineQueue::start(memory.clone(), notice).unwrap();
        let expected: Vec<String> = (0..1_000).map(|n| format!("{n}\n")).collect();
        expected.iter().for_each(|line| queue.take(line.clone()));
        queue.close(PATIENCE);
        assert_eq!((memory.lines(), queue.dropped()), (expected, 0));
    }

    #[test]
    fn who_writes_lines_never_waits_and_what_was_dropped_is_told_of_once() {
        let memory = Memory::default();
        memory.set(|state| state.held = true);
        let queue = LineQueue::with_room(memory.clone(), notice, 4).unwrap();
        (0..100).for_each(|n| queue.take(format!("{n}\n")));
        let dropped = queue.dropped();
        assert!(dropped >= 90, "{dropped}");
        assert!(!queue.flush(Duration::from_millis(10)));
        memory.set(|state| state.held = false);
        assert!(queue.flush(PATIENCE));
        queue.take("last\n".to_owned());
        assert!(queue.flush(PATIENCE));
        let notices: Vec<_> = memory.lines().into_iter().filter(|line| line.contains("lines_lost")).collect();
        let [notice] = notices.as_slice() else { panic!("{notices:?}") };
        assert!(*notice == super::tests::notice(dropped), "{notice}");
        assert_eq!(memory.lines().last().unwrap(), "last\n");
    }

    #[test]
    fn what_can_not_be_written_is_kept_and_tried_again() {
        let memory = Memory::default();
        memory.set(|state| state.broken = true);
        let queue = LineQueue::start(memory.clone(), notice).unwrap();
        queue.take("one\n".to_owned());
        assert!(!queue.flush(PATIENCE));
        queue.take("two\n".to_owned());
        assert!(!queue.flush(PATIENCE));
        memory.set(|state| state.broken = false);
        queue.take("three\n".to_owned());
        assert!(queue.flush(PATIENCE));
        assert_eq!(
            (memory.lines(), queue.dropped()),
            (["one\n", "two\n", "three\n"].map(str::to_owned).into(), 0)
        );
    }

    #[test]
    fn what_can_not_be_written_for_long_takes_no_more_room_than_it_may() {
        let memory = Memory::default();
        memory.set(|state| state.broken = true);
        let queue = LineQueue::start(memory.clone(), notice).unwrap();
        let long = format!("{}\n", "x".repeat(1 << 20));
        (0..40).for_each(|_| {
            queue.take(long.clone());
            queue.flush(PATIENCE);
        });
        let dropped = queue.dropped();
        assert!((20..40).contains(&dropped), "{dropped}");
        memory.set(|state| state.broken = false);
        assert!(queue.flush(PATIENCE));
        let lines = memory.lines();
        assert_eq!(lines.len() as u64, 40 - dropped + 1);
        assert_eq!(lines.last(), Some(&super::tests::notice(dropped)));
    }
}
