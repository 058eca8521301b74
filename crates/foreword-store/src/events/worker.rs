//! The background task of the queue: writes batches, retries while the database is unavailable, and isolates single
//! events that the database rejects.

use std::future::Future;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use foreword_core::event::{Event, EventType};
use serde_json::json;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, timeout_at};

use super::queue::{Clock, Item, QueueConfig, Signal};
use super::rows;
use crate::engine::Value;
use crate::error::StoreError;
use crate::store::Store;

/// How often the database may reject an event before it is dropped.
const MAX_REFUSALS: u32 = 3;
/// The longest time an idle worker sleeps before it checks the queue.
const MAX_SLEEP: Duration = Duration::from_secs(2);

/// The destination of rows.
pub(super) trait Sink: Send + Sync + 'static {
    /// Writes a range of rows in one transaction.
    fn write(
        &self,
        rows: Arc<Vec<Vec<Value>>>,
        range: Range<usize>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}

impl Sink for Store {
    async fn write(&self, rows: Arc<Vec<Vec<Value>>>, range: Range<usize>) -> Result<(), StoreError> {
        self.add_event_rows(rows, range).await
    }
}

pub(super) struct Worker<S> {
    sink: S,
    clock: Clock,
    config: QueueConfig,
    signal: Arc<Signal>,
    /// How many of the dropped events have been reported in an event.
    reported: u64,
}

/// Items taken from the queue.
#[derive(Default)]
struct Batch {
    rows: Vec<Vec<Value>>,
    flushes: Vec<oneshot::Sender<()>>,
}

/// The outcome of writing a range of rows.
enum Outcome {
    Written,
    /// One of several rows was rejected.
    Refused,
    /// The rows can't be written.
    Lost,
}

impl<S: Sink> Worker<S> {
    pub(super) fn new(sink: S, clock: Clock, config: QueueConfig, signal: Arc<Signal>) -> Self {
        Self { sink, clock, config, signal, reported: 0 }
    }

    /// Runs until the queue is closed or all handles are dropped, and the queue is empty.
    pub(super) async fn run(
        mut self,
        mut waiting: mpsc::Receiver<Item>,
        mut closing: watch::Receiver<Option<Instant>>,
        end: watch::Sender<bool>,
    ) {
        let mut quiet = false;
        loop {
            if closing.borrow().is_some() {
                waiting.close();
                // A sender that waits for capacity may not have been woken yet.
                tokio::task::yield_now().await;
            } else {
                self.rest(quiet, &waiting).await;
            }
            quiet = waiting.is_empty();
            if self.empty(&mut waiting, &mut closing).await {
                break;
            }
        }
        let _ = end.send(true);
    }

    /// Sleeps for the linger time or until woken. If the queue was `quiet`, sleeps until the first event: a periodic
    /// timer would dominate the CPU use of an idle process.
    async fn rest(&self, quiet: bool, waiting: &mpsc::Receiver<Item>) {
        let signal = &self.signal;
        if quiet {
            signal.asleep.store(true, Ordering::SeqCst);
            // An event that came just before did not wake the worker.
            if waiting.is_empty() {
                tokio::select! {
                    () = signal.hurry.notified() => {
                        signal.asleep.store(false, Ordering::SeqCst);
                        return;
                    }
                    () = signal.first.notified() => {}
                    () = sleep(MAX_SLEEP) => {}
                }
            }
            signal.asleep.store(false, Ordering::SeqCst);
            if waiting.is_empty() {
                return;
            }
        }
        let _ = tokio::time::timeout(self.config.linger, signal.hurry.notified()).await;
    }

    /// Writes the queued events, except a partial batch that arrived meanwhile. Returns whether the channel is
    /// closed.
    async fn empty(
        &mut self,
        waiting: &mut mpsc::Receiver<Item>,
        closing: &mut watch::Receiver<Option<Instant>>,
    ) -> bool {
        loop {
            let (mut batch, last) = self.take(waiting);
            let taken = batch.rows.len();
            let dropped = self.signal.dropped.load(Ordering::Relaxed);
            if dropped > self.reported {
                batch.rows.push(rows::to_values(&self.notice(dropped)));
            }
            let all = batch.rows.len();
            if all > 0 && self.write(batch.rows, taken, closing).await == all {
                self.reported = dropped;
            }
            for flush in batch.flushes {
                let _ = flush.send(());
            }
            match last {
                Some(TryRecvError::Disconnected) => return true,
                // The remaining events have arrived since.
                _ if taken < self.config.batch.max(1) => return false,
                _ => {}
            }
        }
    }

    /// The next batch, and why it is not larger.
    fn take(&self, waiting: &mut mpsc::Receiver<Item>) -> (Batch, Option<TryRecvError>) {
        let mut batch = Batch::default();
        while batch.rows.len() < self.config.batch.max(1) {
            match waiting.try_recv() {
                Ok(Item::Event(event)) => batch.rows.push(rows::to_values(&event)),
                Ok(Item::Flush(flush)) => batch.flushes.push(flush),
                Err(reason) => return (batch, Some(reason)),
            }
        }
        (batch, None)
    }

    fn notice(&self, dropped: u64) -> Event {
        let lost = dropped - self.reported;
        Event {
            error: Some(format!("{lost} events were lost: the queue was full, or the database refused them")),
            metadata: Some(json!({ "lost": lost, "lost_since_start": dropped })),
            ..Event::new(EventType::EventsLost, (self.clock)())
        }
    }

    /// Writes rows. Returns the end of the durable range. Counts those of the first `events` rows that are lost; the
    /// only other row is the report of earlier losses.
    async fn write(
        &self,
        rows: Vec<Vec<Value>>,
        events: usize,
        closing: &mut watch::Receiver<Option<Instant>>,
    ) -> usize {
        let rows = Arc::new(rows);
        let mut ranges: Vec<Range<usize>> = std::iter::once(0..rows.len()).collect();
        let mut durable = 0;
        while let Some(range) = ranges.pop() {
            match self.write_range(&rows, &range, closing).await {
                Outcome::Written => durable = range.end,
                Outcome::Lost => {
                    let lost = range.end.min(events).saturating_sub(range.start);
                    self.signal.dropped.fetch_add(lost as u64, Ordering::Relaxed);
                }
                Outcome::Refused => {
                    let middle = range.start + range.len() / 2;
                    ranges.push(middle..range.end);
                    ranges.push(range.start..middle);
                }
            }
        }
        durable
    }

    async fn write_range(
        &self,
        rows: &Arc<Vec<Vec<Value>>>,
        range: &Range<usize>,
        closing: &mut watch::Receiver<Option<Instant>>,
    ) -> Outcome {
        let mut failures = 0;
        let mut refusals = 0;
        loop {
            match before_deadline(self.sink.write(Arc::clone(rows), range.clone()), closing).await {
                Some(Ok(())) => return Outcome::Written,
                Some(Err(error)) if is_transient(&error) => {}
                Some(Err(_)) if range.len() > 1 => return Outcome::Refused,
                Some(Err(_)) => refusals += 1,
                None => return Outcome::Lost,
            }
            // Every retry is preceded by a pause, which ends at the deadline at the latest.
            failures += 1;
            let wait = self.config.backoff.delay(failures);
            if refusals >= MAX_REFUSALS || before_deadline(sleep(wait), closing).await.is_none() {
                return Outcome::Lost;
            }
        }
    }
}

/// The output of the future, or `None` if the queue is closing and the deadline has passed.
async fn before_deadline<T>(
    future: impl Future<Output = T>,
    closing: &mut watch::Receiver<Option<Instant>>,
) -> Option<T> {
    let mut future = pin!(future);
    loop {
        let deadline = *closing.borrow_and_update();
        if let Some(deadline) = deadline {
            return timeout_at(deadline, future).await.ok();
        }
        tokio::select! {
            result = &mut future => return Some(result),
            changed = closing.changed() => if changed.is_err() {
                // The queue was dropped without `close`, so there is no deadline.
                return Some(future.await);
            }
        }
    }
}

/// Whether a retry may succeed. Other errors concern the rows.
fn is_transient(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Unreachable { .. }
            | StoreError::Full { .. }
            | StoreError::ReadOnly { .. }
            | StoreError::Locked { .. }
            | StoreError::Disconnected { .. }
            // It may have been written. A duplicate in the log is better than a loss.
            | StoreError::Uncertain { .. }
            | StoreError::Corrupt { .. }
    )
}
