//! What this process tells of its work, as section `logging` asks for it: metrics in a file, traces for a collector.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use foreword_agent::surroundings::{Machine, Surroundings};
use foreword_observe::metrics::{Gauges, KeptFile, Metrics, keep_file};
use foreword_observe::news::{News, Tell};
use foreword_observe::otlp::{Otlp, OtlpSettings, Patience, headers};
use foreword_store::events::EventQueue;
use foreword_store::store::Store;
use foreword_workspace::config::OtlpConfig;
use foreword_workspace::workspace::Workspace;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

use crate::failure::Failure;
use crate::observing::Observing;

/// How often the file with the metrics is written.
const EVERY: Duration = Duration::from_secs(15);

/// Metrics and traces of this process.
pub(crate) struct Telemetry {
    metrics: Metrics,
    otlp: Option<Arc<Otlp>>,
    /// Where metrics are to be written.
    path: Option<PathBuf>,
    file: Mutex<Option<KeptFile>>,
    /// Who is told of trouble, once there is somebody.
    tell: OnceLock<Tell>,
}

impl Telemetry {
    /// What the configuration asks for; nothing is sent or written yet.
    pub(crate) fn new(workspace: &Workspace) -> Result<Self, Failure> {
        let config = &workspace.snapshot().config.export;
        let path = config.metrics_file.as_ref().map(|path| workspace.directory().join(path));
        let otlp = config.otlp.as_ref().map(exporter).transpose()?.map(Arc::new);
        Ok(Self { metrics: Metrics::new(), otlp, path, file: Mutex::new(None), tell: OnceLock::new() })
    }

    /// What is counted.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// What listens to the recorder.
    pub(crate) fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(&self) -> impl Layer<S> + use<S> {
        self.metrics.layer().and_then(self.otlp.as_ref().map(|otlp| otlp.layer()))
    }

    /// Begins to send. Needs a runtime around it.
    pub(crate) fn start(&self, observing: &Arc<Observing>, events: &EventQueue, store: &Store) {
        let recorder = observing.recorder.clone();
        let clock: Arc<dyn Surroundings> = Arc::new(Machine);
        let tell: Tell = Arc::new(move |news: News| recorder.record(news.event(clock.timestamp())));
        let (events, otlp, lines) = (events.clone(), self.otlp.clone(), Arc::downgrade(observing));
        let store = store.clone();
        self.metrics.ask_for_gauges(move || Gauges {
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

    /// Keeps the file up to date from now on, if there is to be one. Needs a runtime around it.
    pub(crate) fn keep_file(&self) {
        if let (Some(path), Some(tell)) = (&self.path, self.tell.get()) {
            let file = keep_file(self.metrics.clone(), path.clone(), EVERY, Arc::clone(tell));
            *self.file.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
        }
    }

    /// Sends and writes what there is still to tell.
    pub(crate) async fn stop(&self) {
        if let Some(otlp) = &self.otlp {
            otlp.stop().await;
        }
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
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
            Failure::failed(message, "a comma within a value is written as `%2C`")
        })?,
    };
    let settings = OtlpSettings {
        endpoint: config.endpoint.clone(),
        headers,
        timeout: config.timeout,
        service_name: config.service_name.clone(),
        level: config.level,
        patience: Patience::default(),
    };
    Otlp::new(settings)
        .map_err(|error| Failure::failed(error.to_string(), "remove `logging.otlp` to do without it"))
}

fn variable(name: &str) -> Result<String, Failure> {
    std::env::var(name).map_err(|_| {
        let message = format!("there is no environment variable `{name}` with the headers of `logging.otlp`");
        Failure::failed(message, "set it to `name=value`, or remove `headers_env`")
    })
}
