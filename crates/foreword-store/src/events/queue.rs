//! The way in for events: recording one costs the caller a move into a bounded queue, never waits and never fails. What
//! does not fit is counted. The work is done by a task of its own; see `worker`.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use foreword_core::event::Event;
use foreword_core::timestamp::Timestamp;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::retention::{RetentionConfig, keep_pruned};
use super::worker::{Sink, Worker};
use crate::store::Store;

/// Tells the time. The store itself reads no clock.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How events are queued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueConfig {
    /// How many may wait.
    pub capacity: usize,
    /// How many are written together at most.
    pub batch: usize,
    /// How long the first of a batch waits for others.
    pub linger: Duration,
    /// How long to try again after a failure at first; each time twice as long.
    pub backoff: Duration,
    /// And at most.
    pub longest_backoff: Duration,
    /// How long [`EventQueue::close`] waits for a database that is away.
    pub patience: Duration,
    /// How old events are pruned; without this they are kept for ever.
    pub retention: Option<RetentionConfig>,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            capacity: 8_192,
            batch: 1_024,
            linger: Duration::from_millis(100),
            backoff: Duration::from_millis(50),
            longest_backoff: Duration::from_secs(5),
            patience: Duration::from_secs(5),
            retention: Some(RetentionConfig::default()),
        }
    }
}

/// The queue has been closed, so it is not known whether what was recorded has been kept. [`EventQueue::dropped`] says
/// how many events were not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the event queue is closed")]
pub struct QueueClosed;

/// The way in for events. Clones share one queue.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let now = "2026-11-16T08:00:00Z".parse()?;
/// # let location = foreword_store::location::Location::file(folder.path().join("foreword.db"));
/// # let store = foreword_store::store::Store::open(&location, now).await?;
/// use std::sync::Arc;
/// use foreword_core::event::{Event, EventType};
/// use foreword_store::events::{EventFilter, EventPage, EventQueue, QueueConfig};
///
/// let queue = EventQueue::start(store.clone(), Arc::new(move || now), QueueConfig::default());
/// queue.record(Event::new(EventType::TurnStarted, now));
/// queue.flush().await?;
/// assert_eq!(store.events(&EventFilter::default(), &EventPage::newest(10)).await?.len(), 1);
/// queue.close().await;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct EventQueue(Arc<Inner>);

struct Inner {
    items: mpsc::Sender<Item>,
    signal: Arc<Signal>,
    /// So many wait that the worker should not wait any longer.
    enough: usize,
    patience: Duration,
    closing: watch::Sender<Option<Instant>>,
    ended: watch::Receiver<bool>,
    retention: Option<AbortHandle>,
}

/// What waits in the queue.
pub(super) enum Item {
    /// An event. Others may keep it too.
    Event(Arc<Event>),
    /// Somebody wants to know when everything in front of this is durable.
    Flush(oneshot::Sender<()>),
}

/// What callers and the worker share beside the queue.
#[derive(Debug, Default)]
pub(super) struct Signal {
    /// There is something to be done before the linger is over. The worker does not wait on the queue itself: then the
    /// caller would have to wake it up for every single event, which takes longer than all the rest.
    pub(super) hurry: Notify,
    /// The worker has had nothing to do for a while and waits for the first event that comes, which alone wakes it up.
    pub(super) asleep: AtomicBool,
    pub(super) first: Notify,
    /// Events that were not kept.
    pub(super) dropped: AtomicU64,
}

impl EventQueue {
    /// Starts the queue in front of `store`, and the task that empties it, on the current Tokio runtime.
    #[must_use]
    pub fn start(store: Store, clock: Clock, config: QueueConfig) -> Self {
        let retention = config
            .retention
            .clone()
            .map(|retention| tokio::spawn(keep_pruned(store.clone(), Arc::clone(&clock), retention)));
        Self::start_with(store, clock, config, retention.map(|task| task.abort_handle()))
    }

    pub(super) fn start_with<S: Sink>(
        sink: S,
        clock: Clock,
        config: QueueConfig,
        retention: Option<AbortHandle>,
    ) -> Self {
        let (items, waiting) = mpsc::channel(config.capacity.max(1));
        let (closing, closing_seen) = watch::channel(None);
        let (end, ended) = watch::channel(false);
        let signal = Arc::new(Signal::default());
        let enough = config.batch.clamp(1, config.capacity.max(1));
        let patience = config.patience;
        let worker = Worker::new(sink, clock, config, Arc::clone(&signal));
        tokio::spawn(worker.run(waiting, closing_seen, end));
        Self(Arc::new(Inner { items, signal, enough, patience, closing, ended, retention }))
    }

    /// Takes an event. Never waits, never fails; if the queue is full or closed, the event is dropped and counted.
    pub fn record(&self, event: impl Into<Arc<Event>>) {
        let Inner { items, signal, enough, .. } = &*self.0;
        if items.try_send(Item::Event(event.into())).is_err() {
            signal.dropped.fetch_add(1, Ordering::Relaxed);
        }
        if self.depth() >= *enough {
            signal.hurry.notify_one();
        }
        if signal.asleep.load(Ordering::SeqCst) && signal.asleep.swap(false, Ordering::SeqCst) {
            signal.first.notify_one();
        }
    }

    /// How many wait to be written.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.0.items.max_capacity() - self.0.items.capacity()
    }

    /// Whether so much waits that events will soon be dropped.
    #[must_use]
    pub fn is_nearly_full(&self) -> bool {
        self.0.items.capacity() <= self.0.items.max_capacity() / 10
    }

    /// How many events were dropped since the start: the queue was full or closed, or the database refused them.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.0.signal.dropped.load(Ordering::Relaxed)
    }

    /// Waits until everything that was recorded before is durable; while the database is away, until it is back.
    ///
    /// # Errors
    /// If the queue is closed.
    pub async fn flush(&self) -> Result<(), QueueClosed> {
        let (done, durable) = oneshot::channel();
        self.0.items.send(Item::Flush(done)).await.map_err(|_| QueueClosed)?;
        self.0.signal.hurry.notify_one();
        durable.await.map_err(|_| QueueClosed)
    }

    /// Writes what waits, and ends. What can't be written within the patience is dropped and counted.
    ///
    /// A queue whose last clone is dropped without this writes what waits as well, as long as the runtime lets it.
    pub async fn close(&self) {
        if let Some(retention) = &self.0.retention {
            retention.abort();
        }
        let deadline = Instant::now() + self.0.patience;
        self.0.closing.send_if_modified(|closing| closing.replace(deadline).is_none());
        self.0.signal.hurry.notify_one();
        // An error is a worker that is gone.
        let _ = self.0.ended.clone().wait_for(|ended| *ended).await;
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(retention) = &self.retention {
            retention.abort();
        }
        // Whoever forgets the queue may end the runtime next.
        self.signal.hurry.notify_one();
    }
}

impl fmt::Debug for EventQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventQueue").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}
