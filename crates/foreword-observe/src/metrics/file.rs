//! A file that always holds the latest numbers, for node_exporter's textfile collector or anybody who can read a file.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};

use super::Metrics;
use crate::news::{News, Tell};

/// A file that is kept up to date until [`stop`](KeptFile::stop).
#[derive(Debug)]
pub struct KeptFile {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// Writes the text of `metrics` to `path` now, then every so often, on the current Tokio runtime. `tell` hears when that
/// fails, and when it works again.
#[must_use]
pub fn keep_file(metrics: Metrics, path: PathBuf, every: Duration, tell: Tell) -> KeptFile {
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(keep(Keeping { metrics, path, tell, failing: false }, every, stopped));
    KeptFile { stop, task }
}

impl KeptFile {
    /// Writes it a last time.
    pub async fn stop(self) {
        // Whoever has ended already needs no word.
        let _ = self.stop.send(());
        let _ = self.task.await;
    }
}

struct Keeping {
    metrics: Metrics,
    path: PathBuf,
    tell: Tell,
    failing: bool,
}

async fn keep(mut keeping: Keeping, every: Duration, mut stopped: oneshot::Receiver<()>) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => keeping.write().await,
            _ = &mut stopped => break,
        }
    }
    keeping.write().await;
}

impl Keeping {
    async fn write(&mut self) {
        let (path, text) = (self.path.clone(), self.metrics.render());
        let written = spawn_blocking(move || replace(&path, &text)).await;
        let failed = written.unwrap_or_else(|error| Err(io::Error::other(error))).err();
        let place = self.path.display();
        match (failed, self.failing) {
            (Some(error), false) => {
                let why = format!("can't write the metrics to `{place}`: {error}; it is tried again");
                (self.tell)(News::Failing(why));
                self.failing = true;
            }
            (None, true) => {
                (self.tell)(News::Well(format!("the metrics are written to `{place}` again")));
                self.failing = false;
            }
            _ => {}
        }
    }
}

/// Puts `text` into the file's place. Whoever reads it meanwhile reads all of the old one or all of the new one.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::other("this names no file"))?;
    // Not `….prom`: a collector that looks into the folder is not to find it.
    let draft = path.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id()));
    let written = fs::File::create(&draft)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}
