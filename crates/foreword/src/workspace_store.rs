//! Opens the store of a workspace, with a runtime for it. Commands that only read never create a database: a missing
//! one counts as empty.

use std::future::Future;
use std::sync::Arc;

use foreword_core::id::ConversationId;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::layer::{Layer, Source};
use foreword_prompt::stored::StoredTexts;
use foreword_store::conversation_settings::ConversationSettings;
use foreword_store::error::StoreError;
use foreword_store::location::Location;
use foreword_store::store::Store;
use foreword_workspace::build::Built;
use foreword_workspace::config::Config;
use foreword_workspace::request::Request;
use foreword_workspace::workspace::Workspace;
use tokio::runtime::{Builder, Runtime};

use crate::failure::Failure;
use crate::migration_notice;
use crate::output::Output;
use crate::process_context::{ProcessContext, STORE_URL_VARIABLE};

/// An open store and its runtime.
#[derive(Debug)]
pub(crate) struct WorkspaceStore {
    pub(crate) store: Store,
    runtime: Runtime,
}

impl WorkspaceStore {
    /// Opens the workspace's store and creates the database file if it is missing.
    pub(crate) fn open(workspace: &Workspace, process: &ProcessContext) -> Result<Self, Failure> {
        process.require_workspace()?;
        let (location, runtime) = (location(workspace, process)?, runtime()?);
        let store = runtime.block_on(Store::open(&location, now(process)))?;
        runtime.block_on(migration_notice::report(&store, now(process)));
        // A directory that can't be written needs no record: its store is elsewhere.
        let _ = workspace.record_configured();
        Ok(Self { store, runtime })
    }

    /// The workspace's store, unless its database file is missing.
    pub(crate) fn open_existing(
        workspace: &Workspace,
        process: &ProcessContext,
    ) -> Result<Option<Self>, Failure> {
        let location = location(workspace, process)?;
        // Most workspaces without a database file never need a runtime. If the file's existence can't be determined,
        // the store is opened, since it may hold data.
        if location.path().is_some_and(|path| matches!(path.try_exists(), Ok(false))) {
            return Ok(None);
        }
        let runtime = runtime()?;
        let store = runtime.block_on(Store::open_existing(&location, now(process)))?;
        if let Some(store) = &store {
            runtime.block_on(migration_notice::report(store, now(process)));
        }
        Ok(store.map(|store| Self { store, runtime }))
    }

    /// Blocks on `future`.
    pub(crate) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }
}

/// Closes the database, so that the next process need not recover it.
impl Drop for WorkspaceStore {
    fn drop(&mut self) {
        // Acknowledged writes are durable even if this fails.
        let _ = self.runtime.block_on(self.store.clone().close());
    }
}

/// The stored texts that the blueprint of an agent uses. `None` if it uses none or nothing was ever stored; then no
/// database is opened or created.
pub(crate) fn texts(
    workspace: &Workspace,
    agent: Option<&str>,
    process: &ProcessContext,
) -> Result<Option<Arc<StoredTexts>>, Failure> {
    let blueprint = Arc::clone(&workspace.snapshot().of_agent(agent)?.config.blueprint);
    let is_stored =
        |layer: &Layer| matches!(layer.source, Source::Stored { .. } | Source::Template { path: None, .. });
    if !blueprint.layers.iter().any(is_stored) {
        return Ok(None);
    }
    let Some(stored) = WorkspaceStore::open_existing(workspace, process)? else { return Ok(None) };
    let texts = stored.wait(stored.store.current_texts(&blueprint.name))?;
    // Layers that were never stored have the built-in defaults anyway: reading a prompt stores nothing for them.
    if texts.layers().next().is_none() {
        return Ok(Some(Arc::new(texts)));
    }
    let recorded = stored.wait(stored.store.sync_defaults(&blueprint, now(process)))?;
    if recorded.is_empty() {
        return Ok(Some(Arc::new(texts)));
    }
    Ok(Some(Arc::new(stored.wait(stored.store.current_texts(&blueprint.name))?)))
}

/// The prompt for `request`, as a new conversation would get it. A failing source is replaced by its last good version,
/// if one is stored.
pub(crate) fn build(
    workspace: &Workspace,
    request: &Request,
    process: &ProcessContext,
) -> Result<Arc<Built>, Failure> {
    let built = workspace.build(request);
    if built.as_ref().is_ok_and(|built| built.sources.failures.is_empty()) {
        return Ok(built?);
    }
    let Some(stored) = WorkspaceStore::open_existing(workspace, process)? else { return Ok(built?) };
    let last_good = Some(Arc::new(stored.wait(stored.store.last_good_sources())?));
    Ok(workspace.build(&Request { last_good, ..request.clone() })?)
}

/// The stored settings of a conversation. `None` if no conversation is named, or nothing was ever stored.
pub(crate) fn settings(
    conversation: Option<&str>,
    workspace: &Workspace,
    process: &ProcessContext,
) -> Result<Option<ConversationSettings>, Failure> {
    let Some(id) = conversation.and_then(|id| ConversationId::new(id).ok()) else { return Ok(None) };
    let Some(stored) = WorkspaceStore::open_existing(workspace, process)? else { return Ok(None) };
    Ok(Some(stored.wait(stored.store.conversation_settings(&id))?))
}

/// The stored value that a write replaces. A damaged one only causes a warning, since it is overwritten.
pub(crate) fn unless_damaged<T>(
    found: Result<Option<T>, StoreError>,
    output: &Output,
) -> Result<Option<T>, Failure> {
    match found {
        Err(damaged @ StoreError::Damaged { .. }) => {
            output.warn(&damaged.to_string());
            Ok(None)
        }
        found => Ok(found?),
    }
}

/// The maximum length of an author's name or a message.
const MAX_LINE_CHARS: usize = 500;

/// Rejects an empty or overlong author or message.
pub(crate) fn check_history_text(words: &str) -> Result<(), Failure> {
    match words.chars().count() {
        0 => Err(Failure::usage("an author or a message is empty", "omit it, or write something")),
        count if count > MAX_LINE_CHARS => Err(Failure::usage(
            format!("an author or a message has {count} characters, {MAX_LINE_CHARS} are allowed"),
            "shorten it",
        )),
        _ => Ok(()),
    }
}

pub(crate) fn now(process: &ProcessContext) -> Timestamp {
    process.now.timestamp().into()
}

/// The author of texts stored from this terminal: its user's name.
pub(crate) fn author(config: &Config) -> String {
    let channel = foreword_prompt::occasion::Channel::new(foreword_workspace::request::TERMINAL);
    config.user_at(&channel).map_or_else(|| "owner".to_owned(), |user| user.name.to_string())
}

/// Where the store is.
pub(crate) fn location(workspace: &Workspace, process: &ProcessContext) -> Result<Location, Failure> {
    match &process.store_url {
        None => Ok(Location::new(&workspace.snapshot().config.store_url, workspace.directory())),
        Some(Ok(url)) => Ok(Location::new(url, workspace.directory())),
        Some(Err(bad)) => Err(Failure::usage(format!("`{STORE_URL_VARIABLE}`: {bad}"), bad.help())),
    }
}

/// The runtime of a command.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| {
        Failure::failed(format!("can't start the runtime: {error}"), "check the operating system's limits")
    })
}
