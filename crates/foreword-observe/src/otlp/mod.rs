//! Exports traces over OTLP/HTTP with JSON, using OpenTelemetry's semantic conventions for generative AI. Spans are
//! built from the same events that are stored and logged.
//!
//! Nothing is sent unless the configuration names a collector, and message texts are never sent: see `attributes`. A
//! slow or unavailable collector does not affect turns: data that does not fit the queue is dropped and counted.

mod attributes;
mod client;
mod exporter;
mod headers;
mod library;
mod queue;
mod span;
mod traces;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use foreword_core::event::Level;
use foreword_core::provider::{BaseUrl, Secret};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use crate::error::ObserveError;
use crate::export_status::StatusCallback;
use client::Collector;
use exporter::Exporter;
use queue::{Item, Queue};
use span::Span;
use traces::Traces;

pub use exporter::ExportTimeouts;
pub use headers::headers;
pub use library::OtlpLayer;

/// The capacity of the queues of events and of finished spans.
const CAPACITY: usize = 4_096;

/// The settings of the exporter.
#[derive(Debug, Clone)]
pub struct OtlpSettings {
    /// The address of the collector; `/v1/traces` is appended.
    pub endpoint: BaseUrl,
    /// Request headers, such as a token.
    pub headers: Vec<(String, Secret)>,
    /// The timeout of one request.
    pub timeout: Duration,
    /// The service name.
    pub service_name: String,
    /// Library spans below this level are ignored.
    pub level: Level,
    /// The timing of exports.
    pub timeouts: ExportTimeouts,
}

/// Exports traces after [`start`](Otlp::start).
pub struct Otlp {
    queue: Queue,
    level: tracing::Level,
    open: Arc<AtomicUsize>,
    waiting: Mutex<Option<Waiting>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    stopping: watch::Sender<bool>,
    timeouts: ExportTimeouts,
}

/// The state that `start` takes.
struct Waiting {
    items: mpsc::Receiver<Item>,
    collector: Collector,
    service: String,
}

impl Otlp {
    /// An exporter that queues events but sends nothing yet.
    ///
    /// # Errors
    /// If the client of the collector cannot be built.
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
            timeouts: settings.timeouts,
        })
    }

    /// The layer that feeds the exporter.
    #[must_use]
    pub fn layer(&self) -> OtlpLayer {
        OtlpLayer { queue: self.queue.clone(), level: self.level, open: Arc::clone(&self.open) }
    }

    /// The number of dropped spans and events since the start.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.queue.dropped.load(Ordering::Relaxed)
    }

    /// Starts sending on the current Tokio runtime. Calls `on_status` when exports fail and when they work again.
    pub fn start(&self, on_status: StatusCallback) {
        let waiting = self.waiting.lock().take();
        let Some(Waiting { items, collector, service }) = waiting else { return };
        let (spans, finished) = mpsc::channel(CAPACITY);
        let sending = Exporter {
            collector,
            service,
            timeouts: self.timeouts.clone(),
            on_status,
            dropped: Arc::clone(&self.queue.dropped),
            stopping: self.stopping.subscribe(),
            failures: 0,
            dropped_before: 0,
        };
        let dropped = Arc::clone(&self.queue.dropped);
        let tasks = [tokio::spawn(assemble(items, spans, dropped)), tokio::spawn(sending.run(finished))];
        self.tasks.lock().extend(tasks);
    }

    /// Sends finished spans within the shutdown time limit and stops.
    pub async fn stop(&self) {
        let tasks = std::mem::take(&mut *self.tasks.lock());
        self.stopping.send_replace(true);
        let ends: Vec<_> = tasks.iter().map(JoinHandle::abort_handle).collect();
        let finishing = async {
            // An error means that the task has ended.
            let _ = self.queue.items.send(Item::Stop).await;
            for task in tasks {
                let _ = task.await;
            }
        };
        if timeout(self.timeouts.stopping, finishing).await.is_err() {
            ends.iter().for_each(tokio::task::AbortHandle::abort);
        }
    }
}

impl fmt::Debug for Otlp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Otlp").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}

/// Builds spans from events until `Stop` arrives. Never waits for the collector.
async fn assemble(mut items: mpsc::Receiver<Item>, spans: mpsc::Sender<Span>, dropped: Arc<AtomicU64>) {
    let mut traces = Traces::default();
    let mut out = Vec::new();
    loop {
        // Wake up only if a trace is waiting to settle.
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
