//! Exports metrics to a file and traces to a collector, as section `logging` configures them.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use foreword_agent::clock_and_rng::{ClockAndRng, Machine};
use foreword_observe::export_status::{ExportStatus, StatusCallback};
use foreword_observe::metrics::{Gauges, Metrics, MetricsFile, spawn_metrics_file};
use foreword_observe::otlp::{ExportTimeouts, Otlp, OtlpSettings, headers};
use foreword_store::events::EventQueue;
use foreword_store::store::Store;
use foreword_workspace::config::OtlpConfig;
use foreword_workspace::workspace::Workspace;
use parking_lot::Mutex;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

use crate::failure::Failure;
use crate::logging::Logging;

/// How often the metrics file is written.
const METRICS_INTERVAL: Duration = Duration::from_secs(15);

/// Metrics and traces of this process.
pub(crate) struct Telemetry {
    metrics: Metrics,
    otlp: Option<Arc<Otlp>>,
    /// The metrics file.
    path: Option<PathBuf>,
    file: Mutex<Option<MetricsFile>>,
    /// Receives export errors, once set.
    tell: OnceLock<StatusCallback>,
}

impl Telemetry {
    /// Creates the exporters; nothing is sent or written yet.
    pub(crate) fn new(workspace: &Workspace) -> Result<Self, Failure> {
        let config = &workspace.snapshot().config.export;
        let path = config.metrics_file.as_ref().map(|path| workspace.directory().join(path));
        let otlp = config.otlp.as_ref().map(exporter).transpose()?.map(Arc::new);
        Ok(Self { metrics: Metrics::new(), otlp, path, file: Mutex::new(None), tell: OnceLock::new() })
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The recorder's layer for metrics and traces.
    pub(crate) fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(&self) -> impl Layer<S> + use<S> {
        self.metrics.layer().and_then(self.otlp.as_ref().map(|otlp| otlp.layer()))
    }

    /// Starts sending. Must be called within a runtime.
    pub(crate) fn start(&self, logging: &Arc<Logging>, events: &EventQueue, store: &Store) {
        let recorder = logging.recorder.clone();
        let clock: Arc<dyn ClockAndRng> = Arc::new(Machine);
        let tell: StatusCallback =
            Arc::new(move |news: ExportStatus| recorder.record(news.event(clock.timestamp())));
        let (events, otlp, lines) = (events.clone(), self.otlp.clone(), Arc::downgrade(logging));
        let store = store.clone();
        self.metrics.set_gauges(move || Gauges {
            event_queue_depth: events.depth() as u64,
            events_dropped: events.dropped(),
            log_lines_dropped: lines.upgrade().map_or(0, |lines| lines.lines_dropped()),
            spans_dropped: otlp.as_ref().map_or(0, |otlp| otlp.dropped()),
            store_down: !store.health().is_up(),
            store_errors: store.health().counts().map(|(fault, count)| (fault.as_str(), count)),
        });
        if let Some(otlp) = &self.otlp {
            otlp.start(Arc::clone(&tell));
        }
        let _ = self.tell.set(tell);
    }

    /// Starts writing the metrics file, if one is configured. Must be called within a runtime.
    pub(crate) fn keep_file(&self) {
        if let (Some(path), Some(tell)) = (&self.path, self.tell.get()) {
            let file =
                spawn_metrics_file(self.metrics.clone(), path.clone(), METRICS_INTERVAL, Arc::clone(tell));
            *self.file.lock() = Some(file);
        }
    }

    /// Flushes and stops the exporters.
    pub(crate) async fn stop(&self) {
        if let Some(otlp) = &self.otlp {
            otlp.stop().await;
        }
        let file = self.file.lock().take();
        if let Some(file) = file {
            file.stop().await;
        }
    }
}

fn exporter(config: &OtlpConfig) -> Result<Otlp, Failure> {
    let headers = match &config.headers_env {
        None => Vec::new(),
        Some(name) => headers(&variable(name)?).map_err(|error| {
            let message = format!("the environment variable `{name}`: {error}");
            Failure::failed(message, "write a comma within a value as `%2C`")
        })?,
    };
    let settings = OtlpSettings {
        endpoint: config.endpoint.clone(),
        headers,
        timeout: config.timeout,
        service_name: config.service_name.clone(),
        level: config.level,
        timeouts: ExportTimeouts::default(),
    };
    Otlp::new(settings)
        .map_err(|error| Failure::failed(error.to_string(), "remove `logging.otlp` to disable the export"))
}

fn variable(name: &str) -> Result<String, Failure> {
    std::env::var(name).map_err(|_| {
        let message =
            format!("the environment variable `{name}` with the headers of `logging.otlp` is not set");
        Failure::failed(message, "set it to `name=value`, or remove `headers_env`")
    })
}
