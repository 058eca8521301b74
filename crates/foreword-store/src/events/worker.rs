//! The task that empties the queue: writes in batches, waits for a database that is away, and finds the one event that
//! a database refuses so that the others get through.

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

/// How often a database may refuse an event before it is dropped.
const REFUSALS: u32 = 3;
/// How long to wait for the first event after a while without any, before it is looked by itself.
const LONGEST_SLEEP: Duration = Duration::from_secs(2);

/// Where rows go.
pub(super) trait Sink: Send + Sync + 'static {
    /// Writes some of the rows, all or none.
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
    /// Of the dropped events, how many have been told of in an event.
    told: u64,
}

/// What was taken from the queue.
#[derive(Default)]
struct Batch {
    rows: Vec<Vec<Value>>,
    flushes: Vec<oneshot::Sender<()>>,
}

/// What became of some rows.
enum Outcome {
    Written,
    /// One of several was refused, but which?
    Refused,
    /// They can't be kept.
    Lost,
}

impl<S: Sink> Worker<S> {
    pub(super) fn new(sink: S, clock: Clock, config: QueueConfig, signal: Arc<Signal>) -> Self {
        Self { sink, clock, config, signal, told: 0 }
    }

    /// Works until the queue is closed or nobody can reach it any more, and it is empty.
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
                // Somebody who waits for room may have been given it and not know yet.
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

    /// Waits as long as the first of a batch may, or until there is no time to lose. If it was `quiet` before, until there
    /// is a first one: a timer that runs for nothing takes more than all the rest of a process that has nothing to do.
    async fn rest(&self, quiet: bool, waiting: &mpsc::Receiver<Item>) {
        let signal = &self.signal;
        if quiet {
            signal.asleep.store(true, Ordering::SeqCst);
            // What came just before that has woken nobody.
            if waiting.is_empty() {
                tokio::select! {
                    () = signal.hurry.notified() => {
                        signal.asleep.store(false, Ordering::SeqCst);
                        return;
                    }
                    () = signal.first.notified() => {}
                    () = sleep(LONGEST_SLEEP) => {}
                }
            }
            signal.asleep.store(false, Ordering::SeqCst);
            if waiting.is_empty() {
                return;
            }
        }
        let _ = tokio::time::timeout(self.config.linger, signal.hurry.notified()).await;
    }

    /// Writes what waits, except for a part of a batch that came meanwhile: that waits for the rest. Says whether
    /// nothing more can come.
    async fn empty(
        &mut self,
        waiting: &mut mpsc::Receiver<Item>,
        closing: &mut watch::Receiver<Option<Instant>>,
    ) -> bool {
        loop {
            let (mut batch, last) = self.take(waiting);
            let taken = batch.rows.len();
            let dropped = self.signal.dropped.load(Ordering::Relaxed);
            if dropped > self.told {
                batch.rows.push(rows::to_values(&self.notice(dropped)));
            }
            let all = batch.rows.len();
            if all > 0 && self.write(batch.rows, taken, closing).await == all {
                self.told = dropped;
            }
            for flush in batch.flushes {
                let _ = flush.send(());
            }
            match last {
                Some(TryRecvError::Disconnected) => return true,
                // What waits now has come since.
                _ if taken < self.config.batch.max(1) => return false,
                _ => {}
            }
        }
    }

    /// The next batch, and why there is no more of it.
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
        let lost = dropped - self.told;
        Event {
            error: Some(format!("{lost} events were lost: the queue was full, or the database refused them")),
            metadata: Some(json!({ "lost": lost, "lost_since_start": dropped })),
            ..Event::new(EventType::EventsLost, (self.clock)())
        }
    }

    /// Writes rows, and says behind which of them the last durable one is. Of the first `events`, those that can't be
    /// kept are counted; behind them is only the notice of earlier losses.
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
        let mut wait = self.config.backoff;
        let mut refusals = 0;
        loop {
            match before_deadline(self.sink.write(Arc::clone(rows), range.clone()), closing).await {
                Some(Ok(())) => return Outcome::Written,
                Some(Err(error)) if is_away(&error) => {}
                Some(Err(_)) if range.len() > 1 => return Outcome::Refused,
                Some(Err(_)) => refusals += 1,
                None => return Outcome::Lost,
            }
            // Nothing is tried again without a pause, and no pause goes beyond the deadline.
            if refusals >= REFUSALS || before_deadline(sleep(wait), closing).await.is_none() {
                return Outcome::Lost;
            }
            wait = wait.saturating_mul(2).min(self.config.longest_backoff);
        }
    }
}

/// What the future gives, unless the queue is being closed and the time for that is over.
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
                // The queue was dropped without being closed: nobody waits for us.
                return Some(future.await);
            }
        }
    }
}

/// Whether the same may work later. Anything else is about what was to be written.
fn is_away(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Unreachable { .. }
            | StoreError::Full { .. }
            | StoreError::ReadOnly { .. }
            | StoreError::Locked { .. }
            | StoreError::Disconnected { .. }
            // It may have been written. Twice in the log is better than not at all.
            | StoreError::Uncertain { .. }
            | StoreError::Corrupt { .. }
    )
}
