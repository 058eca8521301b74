//! Looks whether the workspace's files have changed, and swaps in what is new. Off the way of a turn: a prompt is built
//! from what was last seen.

use std::sync::{Arc, Weak};
use std::time::Duration;

use foreword_core::event::{Event, EventType, Level};
use foreword_prompt::untrusted::single_line;
use foreword_workspace::workspace::Refreshed;
use serde_json::json;
use tokio::time::Instant;

use crate::shared::Shared;

/// How often to look, at most.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The part of the time that may be spent looking: one in so many.
const SHARE: u32 = 20;
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

/// Looks until the agent is gone.
pub(crate) async fn watch(shared: Weak<Shared>) {
    let mut rest = LOOK_EVERY;
    loop {
        tokio::time::sleep(rest).await;
        let Some(shared) = shared.upgrade() else { return };
        let began = Instant::now();
        look(&shared).await;
        rest = LOOK_EVERY.max(began.elapsed() * SHARE);
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
            let error = Some(single_line(why, SHOWN));
            shared.log(Event {
                level: Level::Error,
                error,
                metadata: Some(json!({ "refused": true })),
                ..event
            });
        }
    }
}
