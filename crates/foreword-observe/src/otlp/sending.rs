//! Brings spans to the collector: several at a time, again if it may go well another time, and never for so long that they
//! pile up. Says once that it fails, and once that it is over.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::client::{Answer, Collector};
use super::span::{Span, body};
use crate::news::{News, Tell};

/// How many spans go together at most.
const BATCH: usize = 512;
/// How often a process that wants to end tries again, and how long it waits between.
const LAST_TRIES: u32 = 3;
const LAST_PAUSE: Duration = Duration::from_millis(200);

/// How patient it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patience {
    /// How long the first span waits for others.
    pub linger: Duration,
    /// How long is waited after a failure at first; each time twice as long.
    pub backoff: Duration,
    /// And at most.
    pub longest_backoff: Duration,
    /// How long the same spans are tried again before they are given up.
    pub give_up: Duration,
    /// How long stopping may take.
    pub stopping: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            linger: Duration::from_secs(2),
            backoff: Duration::from_millis(500),
            longest_backoff: Duration::from_secs(30),
            give_up: Duration::from_secs(120),
            stopping: Duration::from_secs(5),
        }
    }
}

pub(super) struct Sending {
    pub(super) collector: Collector,
    pub(super) service: String,
    pub(super) patience: Patience,
    pub(super) tell: Tell,
    pub(super) dropped: Arc<AtomicU64>,
    /// Whether the process wants to end.
    pub(super) stopping: watch::Receiver<bool>,
    /// How often it has failed since it last went well.
    pub(super) failures: u32,
    /// How many had been dropped when it began to fail.
    pub(super) dropped_before: u64,
}

impl Sending {
    /// Sends what comes until no more can come.
    pub(super) async fn run(mut self, mut spans: mpsc::Receiver<Span>) {
        while let Some(first) = spans.recv().await {
            let batch = self.gather(first, &mut spans).await;
            self.deliver(&batch).await;
        }
    }

    async fn gather(&mut self, first: Span, spans: &mut mpsc::Receiver<Span>) -> Vec<Span> {
        let mut batch = vec![first];
        let deadline = Instant::now() + self.patience.linger;
        while batch.len() < BATCH {
            // Who stops closes the queue, and then nothing more is waited for.
            match timeout_at(deadline, spans.recv()).await {
                Ok(Some(span)) => batch.push(span),
                Ok(None) | Err(_) => break,
            }
        }
        batch
    }

    async fn deliver(&mut self, batch: &[Span]) {
        let body = body(&self.service, batch);
        let give_up = Instant::now() + self.patience.give_up;
        let mut last_tries = 0;
        loop {
            let (why, pause) = match self.collector.send(body.clone()).await {
                Answer::Taken { rejected } => {
                    self.drop_spans(rejected);
                    return self.well();
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
            if pause > give_up || last_tries > LAST_TRIES {
                return self.drop_spans(batch.len() as u64);
            }
            self.rest_until(pause).await;
        }
    }

    /// Waits, but not for long if the process wants to end.
    async fn rest_until(&mut self, until: Instant) {
        let stops = async {
            // An error is somebody who has stopped without a word.
            let _ = self.stopping.wait_for(|stopping| *stopping).await;
        };
        tokio::select! {
            () = sleep_until(until) => {}
            () = stops => sleep(LAST_PAUSE.min(self.patience.backoff)).await,
        }
    }

    /// Twice as long each time, and never quite as long as that of others who failed at the same moment.
    fn backoff(&self) -> Duration {
        let doubled = self.patience.backoff.saturating_mul(1 << self.failures.saturating_sub(1).min(16));
        let most = doubled.min(self.patience.longest_backoff);
        let chance = RandomState::new().hash_one(self.failures) as f64 / u64::MAX as f64;
        most.mul_f64(0.5 + chance / 2.0)
    }

    fn failed(&mut self, why: &str) {
        if self.failures == 0 {
            self.dropped_before = self.dropped.load(Ordering::Relaxed);
            let place = self.collector.url();
            (self.tell)(News::Failing(format!("can't export traces to {place}: {why}; it is tried again")));
        }
        self.failures = self.failures.saturating_add(1);
    }

    fn well(&mut self) {
        if self.failures > 0 {
            let lost = self.dropped.load(Ordering::Relaxed).saturating_sub(self.dropped_before);
            let place = self.collector.url();
            (self.tell)(News::Well(format!("traces are exported to {place} again; {lost} spans were lost")));
        }
        self.failures = 0;
    }

    fn drop_spans(&self, number: u64) {
        self.dropped.fetch_add(number, Ordering::Relaxed);
    }
}
