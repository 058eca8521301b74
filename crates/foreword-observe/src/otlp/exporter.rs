//! Exports spans to the collector: in batches, with retries and backoff, for a limited time. Reports once that it
//! fails, and once that it works again.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use foreword_core::backoff::Backoff;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::client::{Answer, Collector};
use super::span::{Span, body};
use crate::export_status::{ExportStatus, StatusCallback};

/// The maximum number of spans per request.
const MAX_BATCH_SPANS: usize = 512;
/// The number of attempts during shutdown, and the delay between them.
const SHUTDOWN_ATTEMPTS: u32 = 3;
const SHUTDOWN_RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// The timing of exports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportTimeouts {
    /// How long to collect spans for a batch.
    pub linger: Duration,
    /// The delays after failures.
    pub backoff: Backoff,
    /// How long to retry a batch before dropping it.
    pub give_up: Duration,
    /// The time limit of a shutdown.
    pub stopping: Duration,
}

impl Default for ExportTimeouts {
    fn default() -> Self {
        Self {
            linger: Duration::from_secs(2),
            backoff: Backoff { first: Duration::from_millis(500), max: Duration::from_secs(30) },
            give_up: Duration::from_secs(120),
            stopping: Duration::from_secs(5),
        }
    }
}

pub(super) struct Exporter {
    pub(super) collector: Collector,
    pub(super) service: String,
    pub(super) timeouts: ExportTimeouts,
    pub(super) on_status: StatusCallback,
    pub(super) dropped: Arc<AtomicU64>,
    /// Whether the process is shutting down.
    pub(super) stopping: watch::Receiver<bool>,
    /// The number of consecutive failures.
    pub(super) failures: u32,
    /// The number of dropped spans when the failures began.
    pub(super) dropped_before: u64,
}

impl Exporter {
    /// Sends batches until the channel is closed.
    pub(super) async fn run(mut self, mut spans: mpsc::Receiver<Span>) {
        while let Some(first) = spans.recv().await {
            let batch = self.gather(first, &mut spans).await;
            self.deliver(&batch).await;
        }
    }

    async fn gather(&mut self, first: Span, spans: &mut mpsc::Receiver<Span>) -> Vec<Span> {
        let mut batch = vec![first];
        let deadline = Instant::now() + self.timeouts.linger;
        while batch.len() < MAX_BATCH_SPANS {
            // A shutdown closes the channel and ends the wait.
            match timeout_at(deadline, spans.recv()).await {
                Ok(Some(span)) => batch.push(span),
                Ok(None) | Err(_) => break,
            }
        }
        batch
    }

    async fn deliver(&mut self, batch: &[Span]) {
        let body = body(&self.service, batch);
        let give_up = Instant::now() + self.timeouts.give_up;
        let mut last_tries = 0;
        loop {
            let (why, pause) = match self.collector.send(body.clone()).await {
                Answer::Taken { rejected } => {
                    self.drop_spans(rejected);
                    return self.report_recovery();
                }
                Answer::Refused { why } => {
                    self.failed(&why);
                    return self.drop_spans(batch.len() as u64);
                }
                Answer::Later { why, pause } => (why, pause),
            };
            self.failed(&why);
            let pause = Instant::now() + pause.unwrap_or_else(|| self.backoff());
            last_tries += u32::from(*self.stopping.borrow());
            if pause > give_up || last_tries > SHUTDOWN_ATTEMPTS {
                return self.drop_spans(batch.len() as u64);
            }
            self.rest_until(pause).await;
        }
    }

    /// Waits, but only briefly during a shutdown.
    async fn rest_until(&mut self, until: Instant) {
        let stops = async {
            // An error means that the sender was dropped.
            let _ = self.stopping.wait_for(|stopping| *stopping).await;
        };
        tokio::select! {
            () = sleep_until(until) => {}
            () = stops => sleep(SHUTDOWN_RETRY_INTERVAL.min(self.timeouts.backoff.first)).await,
        }
    }

    /// Exponential backoff with jitter.
    fn backoff(&self) -> Duration {
        let chance = RandomState::new().hash_one(self.failures) as f64 / u64::MAX as f64;
        self.timeouts.backoff.jittered_delay(self.failures, chance)
    }

    fn failed(&mut self, why: &str) {
        if self.failures == 0 {
            self.dropped_before = self.dropped.load(Ordering::Relaxed);
            let place = self.collector.url();
            (self.on_status)(ExportStatus::Failing(format!(
                "can't export traces to {place}: {why}; retrying"
            )));
        }
        self.failures = self.failures.saturating_add(1);
    }

    fn report_recovery(&mut self) {
        if self.failures > 0 {
            let lost = self.dropped.load(Ordering::Relaxed).saturating_sub(self.dropped_before);
            let place = self.collector.url();
            (self.on_status)(ExportStatus::Recovered(format!(
                "traces are exported to {place} again; {lost} spans were lost"
            )));
        }
        self.failures = 0;
    }

    fn drop_spans(&self, number: u64) {
        self.dropped.fetch_add(number, Ordering::Relaxed);
    }
}
