//! Reads the workspace's files again when they have changed: a watcher reports changes, and a message waits for those that were
//! made before it. Where no watcher can be had, the files are polled.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use foreword_core::event::{Event, EventType, Level};
use foreword_prompt::untrusted::display_line;
use foreword_workspace::watcher::FileWatcher;
use foreword_workspace::workspace::Refreshed;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::shared::Shared;

/// How often the files are looked at where no watcher reports changes.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How often at least they are looked at, in case a watcher misses a change: on a network file system, for example.
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(30);
/// The part of the time that may be spent looking: one in so many.
const SHARE: u32 = 20;
/// The same when there was no message for a while.
const IDLE_SHARE: u32 = 2_000;
/// When that is.
const IDLE_AFTER: Duration = Duration::from_secs(20);
/// How long a message waits for changed files to be read.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(1);
/// How long after a change the next one is looked for by itself: an editor makes several in a row. A message does not wait.
const DEBOUNCE: Duration = Duration::from_millis(20);
/// The longest reason in the log.
const SHOWN: usize = 1_000;

/// What became of the workspace's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reloaded {
    /// These sections of the configuration are new; with none, only other files are.
    Changed(Vec<&'static str>),
    /// The configuration is refused and the old one stays in force: why, with its place.
    Refused(String),
}

/// When somebody last said something.
#[derive(Debug)]
pub(crate) struct Activity(Mutex<Instant>);

impl Default for Activity {
    fn default() -> Self {
        Self(Mutex::new(Instant::now()))
    }
}

impl Activity {
    fn is_idle(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).elapsed() >= IDLE_AFTER
    }

    /// Notes that somebody says something, and whether that was long ago before.
    fn begins(&self) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *last, Instant::now()).elapsed() >= IDLE_AFTER
    }
}

/// What is known of the workspace's files.
#[derive(Debug, Default)]
pub(crate) struct FileChanges {
    watcher: OnceLock<FileWatcher>,
    /// How many changes the watcher had counted when the files were last read.
    read: AtomicU64,
    /// Whether it was logged that files can't be watched.
    warned: AtomicBool,
}

impl FileChanges {
    /// Whether files have changed since they were last read. `None` if nothing watches them.
    fn are_pending(&self) -> Option<bool> {
        self.watcher.get().map(|watcher| watcher.changes() != self.read.load(Ordering::SeqCst))
    }
}

/// Reads changed files until the agent is gone.
pub(crate) async fn watch(shared: Weak<Shared>) {
    let changed = Arc::new(Notify::new());
    if let Some(shared) = shared.upgrade() {
        start_watcher(&shared, &changed);
        shared.sources.scan(&shared).await;
    }
    let mut rest = POLL_INTERVAL;
    loop {
        tokio::select! {
            () = changed.notified() => tokio::time::sleep(DEBOUNCE).await,
            () = tokio::time::sleep(rest) => {}
        }
        let Some(shared) = shared.upgrade() else { return };
        let began = Instant::now();
        look(&shared).await;
        rest = match shared.files.watcher.get() {
            Some(_) => MAX_POLL_INTERVAL,
            None => rest_after(began.elapsed(), shared.activity.is_idle()),
        };
    }
}

/// Starts the watcher. Where none can be had, the files are polled.
fn start_watcher(shared: &Shared, changed: &Arc<Notify>) {
    let signal = Arc::clone(changed);
    match FileWatcher::start(move || signal.notify_one()) {
        Ok(watcher) => {
            follow(shared, &watcher);
            // Only one task watches; a second watcher would be dropped.
            let _ = shared.files.watcher.set(watcher);
        }
        Err(error) => warn_of_polling(shared, &error.to_string()),
    }
}

/// Has the watcher watch what is read now.
fn follow(shared: &Shared, watcher: &FileWatcher) {
    if let Err(error) = watcher.follow(&shared.workspace) {
        warn_of_polling(shared, &error.to_string());
    }
}

fn warn_of_polling(shared: &Shared, error: &str) {
    if !shared.files.warned.swap(true, Ordering::SeqCst) {
        let why = format!("some files can't be watched and are looked at every 30 seconds instead: {error}");
        shared.log(Event {
            level: Level::Warn,
            error: Some(display_line(&why, SHOWN)),
            ..Event::new(EventType::ConfigReloaded, shared.now())
        });
    }
}

/// How long to rest after a look that took so long. An agent with nothing to do should take next to no time of the processor,
/// however many files it has.
fn rest_after(took: Duration, idle: bool) -> Duration {
    let usual = POLL_INTERVAL.max(took * SHARE);
    if idle { usual.max((took * IDLE_SHARE).min(MAX_POLL_INTERVAL)) } else { usual }
}

/// A message came in. Files that have changed are read first: an edit that was made before a message applies to it. Where
/// nothing watches them, they are looked at after a pause only.
pub(crate) async fn somebody_speaks(shared: &Arc<Shared>) {
    let after_pause = shared.activity.begins();
    if shared.files.are_pending().unwrap_or(after_pause) {
        // Reading that takes longer continues beside the turn.
        let _ = tokio::time::timeout(REFRESH_TIMEOUT, look(shared)).await;
    }
}

/// Looks once.
async fn look(shared: &Arc<Shared>) {
    let (workspace, files) = (Arc::clone(&shared.workspace), Arc::clone(shared));
    // Thousands of files may have to be asked for their age.
    let refreshing = tokio::task::spawn_blocking(move || {
        // Counted before the files are read: a change during that is read next time.
        let changes = files.files.watcher.get().map(FileWatcher::changes);
        let refreshed = workspace.refresh();
        if let Some(changes) = changes {
            files.files.read.fetch_max(changes, Ordering::SeqCst);
        }
        if let Some(watcher) = files.files.watcher.get() {
            follow(&files, watcher);
        }
        refreshed
    });
    let Ok(refreshed) = refreshing.await else { return };
    let reloaded = match refreshed {
        Refreshed::Unchanged => return,
        Refreshed::Changed { sections, .. } => Reloaded::Changed(sections),
        Refreshed::Refused(error) => Reloaded::Refused(error.to_string()),
    };
    log(shared, &reloaded);
    // Nobody has to listen.
    let _ = shared.reloads.send(reloaded);
    let shared = Arc::clone(shared);
    tokio::spawn(async move { shared.sources.scan(&shared).await });
}

fn log(shared: &Shared, reloaded: &Reloaded) {
    let event = Event::new(EventType::ConfigReloaded, shared.now());
    match reloaded {
        Reloaded::Changed(sections) if sections.is_empty() => {}
        Reloaded::Changed(sections) => {
            shared.log(Event { metadata: Some(json!({ "changedSections": sections })), ..event });
        }
        Reloaded::Refused(why) => {
            let error = Some(display_line(why, SHOWN));
            shared.log(Event {
                level: Level::Error,
                error,
                metadata: Some(json!({ "refused": true })),
                ..event
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_agent_looks_seldom_and_never_less_often_than_every_half_minute() {
        let ms = Duration::from_millis;
        for (took, busy, idle) in
            [(0, 1_000, 1_000), (1, 1_000, 2_000), (20, 1_000, 30_000), (2_000, 40_000, 40_000)]
        {
            assert_eq!(
                (rest_after(ms(took), false), rest_after(ms(took), true)),
                (ms(busy), ms(idle)),
                "{took}"
            );
        }
    }

    #[test]
    fn after_a_while_without_a_word_the_next_one_is_the_first_of_many() {
        assert!(!Activity::default().begins());
        let long_ago = Instant::now().checked_sub(IDLE_AFTER).unwrap();
        let activity = Activity(Mutex::new(long_ago));
        assert!(activity.is_idle() && activity.begins());
        assert!(!activity.is_idle() && !activity.begins());
    }
}
