//! Looks whether the workspace's files have changed, and swaps in what is new. Off the way of a turn: a prompt is built
//! from what was last seen.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use foreword_core::event::{Event, EventType, Level};
use foreword_prompt::untrusted::display_line;
use foreword_workspace::workspace::Refreshed;
use serde_json::json;
use tokio::time::Instant;

use crate::shared::Shared;

/// How often to look, at most.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// And at least, when nobody has said anything for a while.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(30);
/// The part of the time that may be spent looking: one in so many.
const SHARE: u32 = 20;
/// The same when nobody has said anything for a while.
const IDLE_SHARE: u32 = 2_000;
/// When that is.
const IDLE_AFTER: Duration = Duration::from_secs(20);
/// How long a message waits for a look at the files after such a while.
const PATIENCE: Duration = Duration::from_millis(250);
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

/// Looks until the agent is gone.
pub(crate) async fn watch(shared: Weak<Shared>) {
    let mut rest = LOOK_EVERY;
    loop {
        tokio::time::sleep(rest).await;
        let Some(shared) = shared.upgrade() else { return };
        let began = Instant::now();
        look(&shared).await;
        rest = rest_after(began.elapsed(), shared.activity.is_idle());
    }
}

/// How long to rest after a look that took so long. An agent with nothing to do should take next to no time of the processor,
/// however many files it has.
fn rest_after(took: Duration, idle: bool) -> Duration {
    let usual = LOOK_EVERY.max(took * SHARE);
    if idle { usual.max((took * IDLE_SHARE).min(LOOK_AT_LEAST_EVERY)) } else { usual }
}

/// Somebody says something. After a while in which nobody did, the files are looked at first: whoever edits one and then
/// speaks means the new text.
pub(crate) async fn somebody_speaks(shared: &Arc<Shared>) {
    if shared.activity.begins() {
        // A look that takes longer goes on beside the turn.
        let _ = tokio::time::timeout(PATIENCE, look(shared)).await;
    }
}

/// Looks once.
async fn look(shared: &Arc<Shared>) {
    let workspace = Arc::clone(&shared.workspace);
    // Thousands of files may have to be asked for their age.
    let Ok(refreshed) = tokio::task::spawn_blocking(move || workspace.refresh()).await else { return };
    let reloaded = match refreshed {
        Refreshed::Unchanged => return,
        Refreshed::Changed { sections, .. } => Reloaded::Changed(sections),
        Refreshed::Refused(error) => Reloaded::Refused(error.to_string()),
    };
    log(shared, &reloaded);
    // Nobody has to listen.
    let _ = shared.reloads.send(reloaded);
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
