//! Prompt sources that can't be read or rendered: listed for the owner, logged once per change, and replaced by their
//! last good version where one is stored. Decides nothing about a turn; see `frozen_prompt`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use foreword_core::event::{Event, EventType, Level};
use foreword_prompt::stored::StoredTexts;
use foreword_prompt::text::ContentHash;
use foreword_prompt::untrusted::single_line;
use foreword_store::error::StoreError;
use foreword_store::events::{EventFilter, EventPage};
use foreword_store::store::Store;
use foreword_workspace::build::{Built, Replacement, SourceFailure, Sources};
use foreword_workspace::check;
use foreword_workspace::workspace::Workspace;
use jiff::Zoned;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::json;

use crate::shared::Shared;

/// Maximum length of a reason in an event.
const MAX_REASON_CHARS: usize = 1_000;
/// How many events about sources are read.
const MAX_EVENTS: u64 = 1_000;
/// Maximum length of a displayed source name.
const MAX_NAME_CHARS: usize = 200;

/// A prompt source that can't be read or rendered, for the owner.
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

impl FailingSource {
    /// The source that an event is about.
    fn logged(event: &Event) -> Option<Self> {
        let text = |name: &str| event.metadata.as_ref()?.get(name)?.as_str();
        let replacement = match text("replacement")? {
            "last_good" => "last_good",
            "skipped" => "skipped",
            _ => "nothing",
        };
        Some(Self {
            source: text("source")?.to_owned(),
            layer: text("layer")?.to_owned(),
            error: event.error.clone()?,
            help: None,
            replacement,
        })
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
pub async fn failing_sources(
    workspace: &Arc<Workspace>,
    store: Option<&Store>,
    now: Zoned,
) -> Result<Vec<FailingSource>, StoreError> {
    let mut failing: Vec<FailingSource> =
        failures(workspace, store, now).await?.into_iter().map(Into::into).collect();
    if let Some(store) = store {
        for event in logged_as_failing(store).await? {
            if let Some(logged) = FailingSource::logged(&event)
                && failing.iter().all(|known| known.source != logged.source)
            {
                failing.push(logged);
            }
        }
    }
    Ok(failing)
}

/// The newest event of each source that is logged as failing and not as recovered since. A template may fail with the
/// values of one conversation only, which a scan does not notice.
async fn logged_as_failing(store: &Store) -> Result<Vec<Event>, StoreError> {
    let mut newest: BTreeMap<String, Event> = BTreeMap::new();
    for event_type in [EventType::PromptSourceFailed, EventType::PromptSourceRecovered] {
        let filter = EventFilter { event_type: Some(event_type), ..EventFilter::default() };
        for stored in store.events(&filter, &EventPage::newest(MAX_EVENTS)).await? {
            let Some(source) = source_of(&stored.event) else { continue };
            let known = newest.get(source).map(|known| known.timestamp);
            if known.is_none_or(|known| known <= stored.event.timestamp) {
                newest.insert(source.to_owned(), stored.event);
            }
        }
    }
    let failed = newest.into_values().filter(|event| event.event_type == EventType::PromptSourceFailed);
    Ok(failed.collect())
}

fn source_of(event: &Event) -> Option<&str> {
    event.metadata.as_ref()?.get("source")?.as_str()
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
    let check = move || check::failing_sources(&workspace, &stored, last_good.as_ref(), &now);
    Ok(tokio::task::spawn_blocking(check).await.unwrap_or_default())
}

/// The last known status of the sources, so that each change is logged and stored once.
#[derive(Debug, Default)]
pub(crate) struct SourceMonitor {
    /// Each source that is logged as failing.
    failing: Mutex<BTreeMap<Arc<str>, Logged>>,
    /// Whether the log was read, which knows what failed before this process started.
    has_read_log: AtomicBool,
    /// The version of each source that was stored last.
    stored: Mutex<BTreeMap<Arc<str>, ContentHash>>,
}

/// A failure that was logged.
#[derive(Debug)]
struct Logged {
    reason: String,
    seen_by: SeenBy,
}

/// Who has seen a source fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SeenBy {
    /// A build for a conversation, with its values.
    Build,
    /// A scan of all sources.
    Scan,
}

impl SourceMonitor {
    /// Logs the failures and recoveries that a build has seen and that were not logged yet.
    pub(crate) fn report(&self, shared: &Shared, sources: &Sources) {
        let good = sources.good.iter().map(|version| &version.source);
        let recovered: Vec<Arc<str>> = {
            let mut failing = self.failing.lock();
            good.filter_map(|source| failing.remove_entry(source)).map(|(source, _)| source).collect()
        };
        self.log_failures(shared, &sources.failures, SeenBy::Build);
        self.log_failures(shared, &sources.unreadable, SeenBy::Build);
        log_recovered(shared, &recovered);
    }

    fn log_failures(&self, shared: &Shared, failures: &[SourceFailure], seen_by: SeenBy) {
        for failure in failures {
            let reason = failure.error.to_string();
            let mut failing = self.failing.lock();
            let is_known = failing.get(&failure.source).is_some_and(|known| known.reason == reason);
            // What a scan sees too does not depend on the values of a conversation, so a scan notices its recovery.
            if !is_known || seen_by == SeenBy::Scan {
                failing.insert(Arc::clone(&failure.source), Logged { reason: reason.clone(), seen_by });
            }
            drop(failing);
            if !is_known {
                shared.log(failed(shared, failure, &reason));
            }
        }
    }

    /// Compares all sources with what was logged, and logs what has changed.
    pub(crate) async fn scan(&self, shared: &Shared) {
        let now = shared.clock_and_rng.now();
        // A store that can't be read is reported elsewhere; the next change of a file scans again.
        let Ok(failures) = failures(&shared.workspace, Some(&shared.store), now).await else { return };
        if !self.has_read_log.swap(true, Ordering::SeqCst)
            && let Ok(events) = logged_as_failing(&shared.store).await
        {
            let logged = events.iter().filter_map(|event| {
                let reason = event.error.clone()?;
                Some((Arc::from(source_of(event)?), Logged { reason, seen_by: SeenBy::Scan }))
            });
            let mut failing = self.failing.lock();
            for (source, logged) in logged {
                failing.entry(source).or_insert(logged);
            }
        }
        let recovered: Vec<Arc<str>> = {
            let mut failing = self.failing.lock();
            let is_failing = |source: &Arc<str>| failures.iter().any(|failure| failure.source == *source);
            // What failed with the values of a conversation is only known to work when it works with them.
            let recovers = |(source, logged): &(&Arc<str>, &Logged)| {
                logged.seen_by == SeenBy::Scan && !is_failing(source)
            };
            let recovered: Vec<Arc<str>> =
                failing.iter().filter(recovers).map(|(source, _)| Arc::clone(source)).collect();
            failing.retain(|source, _| !recovered.contains(source));
            recovered
        };
        self.log_failures(shared, &failures, SeenBy::Scan);
        log_recovered(shared, &recovered);
    }

    /// Stores the sources of a prompt that was just frozen as the last good ones, as far as they are new.
    pub(crate) async fn store_good(&self, shared: &Shared, built: &Built) {
        let hashed = built.sources.good.iter().map(|version| (version, ContentHash::of(&version.text)));
        let new: Vec<_> = {
            let stored = self.stored.lock();
            hashed.filter(|(version, hash)| stored.get(&version.source) != Some(hash)).collect()
        };
        let versions: Vec<_> = new.iter().map(|(version, _)| (*version).clone()).collect();
        // A version that is not stored is missing only if the source fails later, and is tried again with the next
        // prompt.
        if !versions.is_empty() && shared.store.save_good_sources(versions, shared.now()).await.is_ok() {
            let new = new.into_iter().map(|(version, hash)| (Arc::clone(&version.source), hash));
            self.stored.lock().extend(new);
        }
    }
}

fn log_recovered(shared: &Shared, sources: &[Arc<str>]) {
    for source in sources {
        let metadata = Some(json!({ "source": &**source }));
        shared.log(Event { metadata, ..Event::new(EventType::PromptSourceRecovered, shared.now()) });
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
