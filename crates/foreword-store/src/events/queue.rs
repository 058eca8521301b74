//! The event queue. Recording moves an event into a bounded channel; it never waits and never fails. Events that
//! don't fit are counted. A background task writes them; see `worker`.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use foreword_core::backoff::Backoff;
use foreword_core::event::Event;
use foreword_core::timestamp::Timestamp;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::retention::{RetentionConfig, keep_pruned};
use super::worker::{Sink, Worker};
use crate::store::Store;

/// Returns the current time. The store itself reads no clock.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The configuration of the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueConfig {
    /// The maximum number of queued events.
    pub capacity: usize,
    /// The maximum batch size.
    pub batch: usize,
    /// How long the first event of a batch waits for others.
    pub linger: Duration,
    /// The pauses between attempts to write.
    pub backoff: Backoff,
    /// How long [`EventQueue::close`] waits for an unavailable database.
    pub close_timeout: Duration,
    /// When to prune old events; `None` keeps them forever.
    pub retention: Option<RetentionConfig>,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            capacity: 8_192,
            batch: 1_024,
            linger: Duration::from_millis(100),
            backoff: Backoff { first: Duration::from_millis(50), max: Duration::from_secs(5) },
            close_timeout: Duration::from_secs(5),
            retention: Some(RetentionConfig::default()),
        }
    }
}

/// The queue is closed, so recorded events may not have been written. [`EventQueue::dropped`] counts those that were
/// not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the event queue is closed")]
pub struct QueueClosed;

/// Records events. Clones share one queue.
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
    /// The queue length at which the worker is woken early.
    enough: usize,
    close_timeout: Duration,
    closing: watch::Sender<Option<Instant>>,
    ended: watch::Receiver<bool>,
    retention: Option<AbortHandle>,
}

/// An item of the queue.
pub(super) enum Item {
    /// An event, which may be shared.
    Event(Arc<Event>),
    /// A request to be notified once all earlier items are durable.
    Flush(oneshot::Sender<()>),
}

/// The state shared by callers and the worker.
#[derive(Debug, Default)]
pub(super) struct Signal {
    /// Wakes the worker before the linger is over. The worker does not wait on the channel itself: then every event
    /// would wake it, which costs more than everything else.
    pub(super) hurry: Notify,
    /// Whether the worker is idle and waits for the next event to wake it.
    pub(super) asleep: AtomicBool,
    pub(super) first: Notify,
    /// The number of lost events.
    pub(super) dropped: AtomicU64,
}

impl EventQueue {
    /// Starts the queue for `store` and its worker task on the current Tokio runtime.
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
        let close_timeout = config.close_timeout;
        let worker = Worker::new(sink, clock, config, Arc::clone(&signal));
        tokio::spawn(worker.run(waiting, closing_seen, end));
        Self(Arc::new(Inner { items, signal, enough, close_timeout, closing, ended, retention }))
    }

    /// Records an event. Never waits and never fails. If the queue is full or closed, the event is dropped and
    /// counted.
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

    /// The number of queued events.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.0.items.max_capacity() - self.0.items.capacity()
    }

    /// Whether the queue is nearly full.
    #[must_use]
    pub fn is_nearly_full(&self) -> bool {
        self.0.items.capacity() <= self.0.items.max_capacity() / 10
    }

    /// The number of events dropped since the start, because the queue was full or closed or the database rejected
    /// them.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.0.signal.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all events recorded so far are durable. Waits for an unavailable database too.
    ///
    /// # Errors
    /// If the queue is closed.
    pub async fn flush(&self) -> Result<(), QueueClosed> {
        let (done, durable) = oneshot::channel();
        self.0.items.send(Item::Flush(done)).await.map_err(|_| QueueClosed)?;
        self.0.signal.hurry.notify_one();
        durable.await.map_err(|_| QueueClosed)
    }

    /// Writes the queued events and shuts down. Drops and counts events that can't be written before the timeout.
    ///
    /// If the last clone is dropped without `close`, the worker still writes the queued events as long as the runtime
    /// lives.
    pub async fn close(&self) {
        if let Some(retention) = &self.0.retention {
            retention.abort();
        }
        let deadline = Instant::now() + self.0.close_timeout;
        self.0.closing.send_if_modified(|closing| closing.replace(deadline).is_none());
        self.0.signal.hurry.notify_one();
        // An error means that the worker has exited.
        let _ = self.0.ended.clone().wait_for(|ended| *ended).await;
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(retention) = &self.retention {
            retention.abort();
        }
        // The runtime may shut down next.
        self.signal.hurry.notify_one();
    }
}

impl fmt::Debug for EventQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventQueue").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}
