//! Writes the metrics to a file at regular intervals, for node_exporter's textfile collector.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};

use super::Metrics;
use crate::export_status::{ExportStatus, StatusCallback};

/// A background task that updates the file until [`stop`](MetricsFile::stop).
#[derive(Debug)]
pub struct MetricsFile {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// Writes the metrics to `path` immediately and then at each interval, on the current Tokio runtime. Calls `on_status` when
/// writing fails and when it works again.
#[must_use]
pub fn spawn_metrics_file(
    metrics: Metrics,
    path: PathBuf,
    every: Duration,
    on_status: StatusCallback,
) -> MetricsFile {
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(write_periodically(
        FileWriter { metrics, path, on_status, failing: false },
        every,
        stopped,
    ));
    MetricsFile { stop, task }
}

impl MetricsFile {
    /// Writes the file a last time and ends the task.
    pub async fn stop(self) {
        // An error means that the task has ended.
        let _ = self.stop.send(());
        let _ = self.task.await;
    }
}

struct FileWriter {
    metrics: Metrics,
    path: PathBuf,
    on_status: StatusCallback,
    failing: bool,
}

async fn write_periodically(mut writer: FileWriter, every: Duration, mut stopped: oneshot::Receiver<()>) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => writer.write().await,
            _ = &mut stopped => break,
        }
    }
    writer.write().await;
}

impl FileWriter {
    async fn write(&mut self) {
        let (path, text) = (self.path.clone(), self.metrics.render());
        let written = spawn_blocking(move || replace(&path, &text)).await;
        let failed = written.unwrap_or_else(|error| Err(io::Error::other(error))).err();
        let place = self.path.display();
        match (failed, self.failing) {
            (Some(error), false) => {
                let why = format!("can't write the metrics to `{place}`: {error}; retrying");
                (self.on_status)(ExportStatus::Failing(why));
                self.failing = true;
            }
            (None, true) => {
                (self.on_status)(ExportStatus::Recovered(format!(
                    "the metrics are written to `{place}` again"
                )));
                self.failing = false;
            }
            _ => {}
        }
    }
}

/// Replaces the file atomically.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::other("the path has no file name"))?;
    // Not `….prom`: the textfile collector must not read it.
    let draft = path.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id()));
    let written = fs::File::create(&draft)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}
