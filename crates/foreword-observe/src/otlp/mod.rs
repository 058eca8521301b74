//! Traces for a collector of the owner's, by the OpenTelemetry protocol over HTTP with JSON. Made of the events that are
//! stored and logged too, so that there is one truth; with the names of OpenTelemetry's conventions for generative AI.
//!
//! Nothing is sent unless the configuration names a collector, and nothing that anybody has said: see `told`. A collector that
//! is slow, away or broken is never noticed by a turn: what it can't take in is dropped and counted.

mod client;
mod headers;
mod library;
mod queue;
mod sending;
mod span;
mod told;
mod traces;

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use foreword_core::event::Level;
use foreword_core::provider::{BaseUrl, Secret};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use crate::error::ObserveError;
use crate::news::Tell;
use client::Collector;
use queue::{Item, Queue};
use sending::Sending;
use span::Span;
use traces::Traces;

pub use headers::headers;
pub use library::OtlpLayer;
pub use sending::Patience;

/// How many events, and how many finished spans, may wait.
const CAPACITY: usize = 4_096;

/// What to export, and where to.
#[derive(Debug, Clone)]
pub struct OtlpSettings {
    /// Where the collector is; `/v1/traces` is added.
    pub endpoint: BaseUrl,
    /// What is sent along, such as a token.
    pub headers: Vec<(String, Secret)>,
    /// How long one request may take.
    pub timeout: Duration,
    /// The name of the service in the collector's eyes.
    pub service_name: String,
    /// Spans of libraries below this level are left out.
    pub level: Level,
    /// How patient it is.
    pub patience: Patience,
}

/// Exports traces, once [`started`](Otlp::start).
pub struct Otlp {
    queue: Queue,
    level: tracing::Level,
    open: Arc<AtomicUsize>,
    waiting: Mutex<Option<Waiting>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    stopping: watch::Sender<bool>,
    patience: Patience,
}

/// What starting needs.
struct Waiting {
    items: mpsc::Receiver<Item>,
    collector: Collector,
    service: String,
}

impl Otlp {
    /// An exporter that takes events in already, up to a number, and sends nothing yet.
    ///
    /// # Errors
    /// If there is no way to the collector, whoever may be there.
    pub fn new(settings: OtlpSettings) -> Result<Self, ObserveError> {
        let collector = Collector::new(&settings.endpoint, &settings.headers, settings.timeout)?;
        let (sender, items) = mpsc::channel(CAPACITY);
        let waiting = Waiting { items, collector, service: settings.service_name };
        Ok(Self {
            queue: Queue { items: sender, dropped: Arc::new(AtomicU64::new(0)) },
            level: match settings.level {
                Level::Debug => tracing::Level::DEBUG,
                Level::Info => tracing::Level::INFO,
                Level::Warn => tracing::Level::WARN,
                Level::Error => tracing::Level::ERROR,
            },
            open: Arc::default(),
            waiting: Mutex::new(Some(waiting)),
            tasks: Mutex::default(),
            stopping: watch::channel(false).0,
            patience: settings.patience,
        })
    }

    /// The layer that feeds it.
    #[must_use]
    pub fn layer(&self) -> OtlpLayer {
        OtlpLayer { queue: self.queue.clone(), level: self.level, open: Arc::clone(&self.open) }
    }

    /// How many spans and events were dropped since the start.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.queue.dropped.load(Ordering::Relaxed)
    }

    /// Begins to send, on the current Tokio runtime. `tell` hears when that fails, and when it works again.
    pub fn start(&self, tell: Tell) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Waiting { items, collector, service }) = waiting else { return };
        let (spans, finished) = mpsc::channel(CAPACITY);
        let sending = Sending {
            collector,
            service,
            patience: self.patience.clone(),
            tell,
            dropped: Arc::clone(&self.queue.dropped),
            stopping: self.stopping.subscribe(),
            failures: 0,
            dropped_before: 0,
        };
        let dropped = Arc::clone(&self.queue.dropped);
        let tasks = [tokio::spawn(assemble(items, spans, dropped)), tokio::spawn(sending.run(finished))];
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).extend(tasks);
    }

    /// Sends what is over, for as long as stopping may take, and ends.
    pub async fn stop(&self) {
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        self.stopping.send_replace(true);
        let ends: Vec<_> = tasks.iter().map(JoinHandle::abort_handle).collect();
        let finishing = async {
            // An error is a task that has ended already.
            let _ = self.queue.items.send(Item::Stop).await;
            for task in tasks {
                let _ = task.await;
            }
        };
        if timeout(self.patience.stopping, finishing).await.is_err() {
            ends.iter().for_each(tokio::task::AbortHandle::abort);
        }
    }
}

impl fmt::Debug for Otlp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Otlp").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}

/// Makes spans of what comes, until it is told to stop. Is always quick, whatever the collector does.
async fn assemble(mut items: mpsc::Receiver<Item>, spans: mpsc::Sender<Span>, dropped: Arc<AtomicU64>) {
    let mut traces = Traces::default();
    let mut out = Vec::new();
    loop {
        // Nothing to settle is nothing to wake up for.
        let settling = traces.next_settling();
        let settled = async {
            match settling {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let item = tokio::select! {
            item = items.recv() => item,
            () = settled => {
                traces.settle(Instant::now(), &mut out);
                pass_on(&mut out, &spans, &dropped);
                continue;
            }
        };
        match item {
            Some(Item::Event(event)) => traces.take(event.event(), Instant::now(), &mut out),
            Some(Item::Library(span)) => out.push(*span),
            Some(Item::Stop) | None => break,
        }
        pass_on(&mut out, &spans, &dropped);
    }
    traces.close(&mut out);
    pass_on(&mut out, &spans, &dropped);
}

fn pass_on(out: &mut Vec<Span>, spans: &mpsc::Sender<Span>, dropped: &AtomicU64) {
    for span in out.drain(..) {
        if spans.try_send(span).is_err() {
            dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
