//! Prompt sources that can't be read or rendered: listed for the owner, logged once per change, and replaced by their last
//! good version where one is stored. Decides nothing about a turn; see `frozen_prompt`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use foreword_core::event::{Event, EventType, Level};
use foreword_prompt::stored::StoredTexts;
use foreword_prompt::text::ContentHash;
use foreword_prompt::untrusted::single_line;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use foreword_workspace::build::{Built, Replacement, SourceFailure};
use foreword_workspace::inspect;
use foreword_workspace::workspace::Workspace;
use jiff::Zoned;
use serde::Serialize;
use serde_json::json;

use crate::shared::Shared;

/// The longest reason in an event.
const MAX_REASON_CHARS: usize = 1_000;
/// The longest name of a source that is shown.
const MAX_NAME_CHARS: usize = 200;

/// A prompt source that can't be read or rendered, as the owner reads of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailingSource {
    /// The file or template.
    pub source: String,
    /// The layer it is the source of.
    pub layer: String,
    /// Why it fails.
    pub error: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// What new prompts contain instead: `last_good`, `skipped` or `nothing`.
    pub replacement: &'static str,
}

impl From<SourceFailure> for FailingSource {
    fn from(failure: SourceFailure) -> Self {
        Self {
            source: failure.source.to_string(),
            layer: failure.layer.to_string(),
            error: failure.error.to_string(),
            help: failure.error.help(),
            replacement: replacement_name(failure.replacement),
        }
    }
}

impl fmt::Display for FailingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, error) =
            (single_line(&self.source, MAX_NAME_CHARS), single_line(&self.error, MAX_REASON_CHARS));
        let replacement = match self.replacement {
            "last_good" => "new prompts use its last good version",
            "skipped" => "new prompts leave it out",
            _ => "no new conversation can start; running ones keep their prompt",
        };
        write!(f, "{source} (layer `{}`): {error}; {replacement}", self.layer)
    }
}

fn replacement_name(replacement: Replacement) -> &'static str {
    match replacement {
        Replacement::LastGood => "last_good",
        Replacement::Skipped => "skipped",
        Replacement::Nothing => "nothing",
    }
}

/// The sources of a workspace that fail now, for any agent, user and situation. Without a store nothing has a last good
/// version.
///
/// # Errors
/// If the store can't be read.
pub async fn failing_sources(
    workspace: &Arc<Workspace>,
    store: Option<&Store>,
    now: Zoned,
) -> Result<Vec<FailingSource>, StoreError> {
    Ok(failures(workspace, store, now).await?.into_iter().map(Into::into).collect())
}

async fn failures(
    workspace: &Arc<Workspace>,
    store: Option<&Store>,
    now: Zoned,
) -> Result<Vec<SourceFailure>, StoreError> {
    let mut stored: Vec<Arc<StoredTexts>> = Vec::new();
    let mut last_good = None;
    if let Some(store) = store {
        for view in workspace.snapshot().of_all_agents() {
            let blueprint = &view.config.blueprint.name;
            if stored.iter().all(|texts| texts.blueprint() != &**blueprint) {
                stored.push(Arc::new(store.current_texts(blueprint).await?));
            }
        }
        last_good = Some(Arc::new(store.last_good_sources().await?));
    }
    let workspace = Arc::clone(workspace);
    let inspect = move || inspect::failing_sources(&workspace, &stored, last_good.as_ref(), &now);
    Ok(tokio::task::spawn_blocking(inspect).await.unwrap_or_default())
}

/// What is known of the sources, so that each change is logged, and stored, once.
#[derive(Debug, Default)]
pub(crate) struct SourceMonitor {
    /// The reason of each failing source, as it was logged last.
    failing: Mutex<BTreeMap<Arc<str>, String>>,
    /// The version of each source that was stored last.
    stored: Mutex<BTreeMap<Arc<str>, ContentHash>>,
}

impl SourceMonitor {
    /// Logs the failures of a build that were not logged yet.
    pub(crate) fn report(&self, shared: &Shared, failures: &[SourceFailure]) {
        for failure in failures {
            let reason = failure.error.to_string();
            let known = locked(&self.failing).insert(Arc::clone(&failure.source), reason.clone());
            if known.as_ref() != Some(&reason) {
                shared.log(failed(shared, failure, &reason));
            }
        }
    }

    /// Compares all sources with what was logged, and logs what has changed.
    pub(crate) async fn scan(&self, shared: &Shared) {
        let now = shared.surroundings.now();
        // A store that can't be read is reported elsewhere; the next change of a file scans again.
        let Ok(failures) = failures(&shared.workspace, Some(&shared.store), now).await else { return };
        let recovered: Vec<Arc<str>> = {
            let mut failing = locked(&self.failing);
            let is_failing = |source: &Arc<str>| failures.iter().any(|failure| failure.source == *source);
            let recovered = failing.keys().filter(|source| !is_failing(source)).cloned().collect();
            failing.retain(|source, _| is_failing(source));
            recovered
        };
        self.report(shared, &failures);
        for source in recovered {
            let metadata = Some(json!({ "source": &*source }));
            shared.log(Event { metadata, ..Event::new(EventType::PromptSourceRecovered, shared.now()) });
        }
    }

    /// Stores the sources of a prompt that was just frozen as the last good ones, as far as they are new.
    pub(crate) async fn store_good(&self, shared: &Shared, built: &Built) {
        let hashed = built.sources.good.iter().map(|version| (version, ContentHash::of(&version.text)));
        let new: Vec<_> = {
            let stored = locked(&self.stored);
            hashed.filter(|(version, hash)| stored.get(&version.source) != Some(hash)).collect()
        };
        let versions: Vec<_> = new.iter().map(|(version, _)| (*version).clone()).collect();
        // A version that is not stored is missing only if the source fails later, and is tried again with the next prompt.
        if !versions.is_empty() && shared.store.save_good_sources(versions, shared.now()).await.is_ok() {
            let new = new.into_iter().map(|(version, hash)| (Arc::clone(&version.source), hash));
            locked(&self.stored).extend(new);
        }
    }
}

fn failed(shared: &Shared, failure: &SourceFailure, reason: &str) -> Event {
    let level = match failure.replacement {
        Replacement::Nothing => Level::Error,
        Replacement::LastGood | Replacement::Skipped => Level::Warn,
    };
    Event {
        level,
        error: Some(single_line(reason, MAX_REASON_CHARS)),
        metadata: Some(json!({
            "source": &*failure.source,
            "layer": failure.layer.as_str(),
            "replacement": replacement_name(failure.replacement),
        })),
        ..Event::new(EventType::PromptSourceFailed, shared.now())
    }
}

fn locked<T>(map: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Nothing can fail while it is locked.
    map.lock().unwrap_or_else(PoisonError::into_inner)
}
