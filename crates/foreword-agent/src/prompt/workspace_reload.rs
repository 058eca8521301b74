//! Reloads changed files of the workspace. A file watcher reports changes, and an incoming message waits until earlier
//! changes are loaded. Without a watcher the files are polled.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use foreword_core::event::{Event, EventType, Level};
use foreword_prompt::untrusted::display_line;
use foreword_workspace::error::WorkspaceError;
use foreword_workspace::watcher::FileWatcher;
use foreword_workspace::workspace::RefreshOutcome;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::shared::Shared;

/// Poll interval without a watcher.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Poll interval with a watcher, which may miss changes, for example on a network file system.
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(30);
/// The delay between polls is at least this many times the duration of a poll.
const POLL_FACTOR: u32 = 20;
/// The same for an idle agent.
const IDLE_POLL_FACTOR: u32 = 2_000;
/// An agent is idle when no message has arrived for this long.
const IDLE_AFTER: Duration = Duration::from_secs(20);
/// How long a message waits for a reload.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(1);
/// How long to wait for further changes after one: editors write several in a row. Messages skip this.
const DEBOUNCE: Duration = Duration::from_millis(20);
/// Maximum length of a reason in the log.
const MAX_REASON_CHARS: usize = 1_000;

/// The result of a reload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reloaded {
    /// The changed sections of the configuration; empty if only other files have changed.
    Changed(Vec<&'static str>),
    /// The new configuration is invalid and the old one stays in force; with the error and its location.
    Refused(String),
}

/// The time of the last message.
#[derive(Debug)]
pub(crate) struct Activity(Mutex<Instant>);

impl Default for Activity {
    fn default() -> Self {
        Self(Mutex::new(Instant::now()))
    }
}

impl Activity {
    fn is_idle(&self) -> bool {
        self.0.lock().elapsed() >= IDLE_AFTER
    }

    /// Records a message. Returns whether the agent was idle before.
    fn begins(&self) -> bool {
        let mut last = self.0.lock();
        std::mem::replace(&mut *last, Instant::now()).elapsed() >= IDLE_AFTER
    }
}

/// The state of the file watcher.
#[derive(Debug, Default)]
pub(crate) struct FileChanges {
    watcher: OnceLock<FileWatcher>,
    /// The watcher's change counter at the last reload.
    read: AtomicU64,
    /// Whether the polling warning was logged.
    warned: AtomicBool,
}

impl FileChanges {
    /// Whether files have changed since they were last read. `None` if nothing watches them.
    fn are_pending(&self) -> Option<bool> {
        self.watcher.get().map(|watcher| watcher.changes() != self.read.load(Ordering::SeqCst))
    }
}

/// Reloads changed files until the agent is dropped.
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
        refresh(&shared).await;
        rest = match shared.files.watcher.get() {
            // Nothing reports that the directory is back.
            Some(_) if is_unavailable(&shared) => POLL_INTERVAL,
            Some(_) => MAX_POLL_INTERVAL,
            None => poll_delay(began.elapsed(), shared.activity.is_idle()),
        };
    }
}

/// Starts the watcher, or logs that the files are polled.
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

/// Updates the watched paths.
fn follow(shared: &Shared, watcher: &FileWatcher) {
    if let Err(error) = watcher.follow(&shared.workspace) {
        warn_of_polling(shared, &error.to_string());
    }
}

fn warn_of_polling(shared: &Shared, error: &str) {
    if !shared.files.warned.swap(true, Ordering::SeqCst) {
        let why = format!("some files can't be watched and are polled every 30 seconds instead: {error}");
        shared.log(Event {
            level: Level::Warn,
            error: Some(display_line(&why, MAX_REASON_CHARS)),
            ..Event::new(EventType::ConfigReloaded, shared.now())
        });
    }
}

/// The delay after a poll that took `took`. An idle agent uses almost no CPU time, regardless of the number of files.
fn poll_delay(took: Duration, idle: bool) -> Duration {
    let usual = POLL_INTERVAL.max(took * POLL_FACTOR);
    if idle { usual.max((took * IDLE_POLL_FACTOR).min(MAX_POLL_INTERVAL)) } else { usual }
}

/// Reloads changed files before a message is handled, so that earlier edits apply to it. Without a watcher, polls only
/// after an idle period.
pub(crate) async fn refresh_before_message(shared: &Arc<Shared>) {
    let after_pause = shared.activity.begins();
    if shared.files.are_pending().unwrap_or(after_pause) || is_unavailable(shared) {
        // A longer reload continues concurrently with the turn.
        let _ = tokio::time::timeout(REFRESH_TIMEOUT, refresh(shared)).await;
    }
}

/// Whether the workspace directory was missing at the last reload.
fn is_unavailable(shared: &Shared) -> bool {
    matches!(shared.workspace.problem(), Some(WorkspaceError::Unavailable { .. }))
}

/// Reloads changed files once.
async fn refresh(shared: &Arc<Shared>) {
    let (workspace, files) = (Arc::clone(&shared.workspace), Arc::clone(shared));
    // May stat thousands of files.
    let refreshing = tokio::task::spawn_blocking(move || {
        // Read before the reload: a concurrent change triggers another one.
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
        RefreshOutcome::Unchanged => return,
        RefreshOutcome::Changed { sections, .. } => Reloaded::Changed(sections),
        RefreshOutcome::Refused(error) => Reloaded::Refused(error.to_string()),
    };
    log(shared, &reloaded);
    // Fails without subscribers.
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
            let error = Some(display_line(why, MAX_REASON_CHARS));
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
    fn idle_agent_polls_at_least_every_half_minute() {
        let ms = Duration::from_millis;
        for (took, busy, idle) in
            [(0, 1_000, 1_000), (1, 1_000, 2_000), (20, 1_000, 30_000), (2_000, 40_000, 40_000)]
        {
            assert_eq!(
                (poll_delay(ms(took), false), poll_delay(ms(took), true)),
                (ms(busy), ms(idle)),
                "{took}"
            );
        }
    }

    #[test]
    fn message_ends_the_idle_period() {
        assert!(!Activity::default().begins());
        let long_ago = Instant::now().checked_sub(IDLE_AFTER).unwrap();
        let activity = Activity(Mutex::new(long_ago));
        assert!(activity.is_idle() && activity.begins());
        assert!(!activity.is_idle() && !activity.begins());
    }
}
