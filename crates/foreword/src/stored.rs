//! The store of a workspace, and the runtime it is asked on. Commands that only look never make a database: one that is
//! not there holds nothing.

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
use crate::output::Output;
use crate::world::{STORE_URL_VARIABLE, World};

/// An open store, and what runs its futures.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) store: Store,
    runtime: Runtime,
}

impl Stored {
    /// The workspace's store, made if it is a file that is not there yet.
    pub(crate) fn open(workspace: &Workspace, world: &World) -> Result<Self, Failure> {
        world.require_workspace()?;
        let (location, runtime) = (location(workspace, world)?, runtime()?);
        let store = runtime.block_on(Store::open(&location, now(world)))?;
        Ok(Self { store, runtime })
    }

    /// The workspace's store, if anything was ever stored.
    pub(crate) fn open_existing(workspace: &Workspace, world: &World) -> Result<Option<Self>, Failure> {
        let location = location(workspace, world)?;
        // Without a file there is nothing to wait for, and most workspaces never need a runtime.
        // One that can't be looked for is another matter: it may hold everything.
        if location.path().is_some_and(|path| matches!(path.try_exists(), Ok(false))) {
            return Ok(None);
        }
        let runtime = runtime()?;
        let store = runtime.block_on(Store::open_existing(&location, now(world)))?;
        Ok(store.map(|store| Self { store, runtime }))
    }

    /// What the store answers.
    pub(crate) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }
}

/// Lets go of the database, so that the next to open it has nothing left to tidy up.
impl Drop for Stored {
    fn drop(&mut self) {
        // What was acknowledged is durable with or without this.
        let _ = self.runtime.block_on(self.store.clone().close());
    }
}

/// What is stored of the texts that the blueprint of an agent is built from. `None` if it is built from nothing stored,
/// or nothing was ever stored; then no database is looked at or made.
pub(crate) fn texts(
    workspace: &Workspace,
    agent: Option<&str>,
    world: &World,
) -> Result<Option<Arc<StoredTexts>>, Failure> {
    let blueprint = Arc::clone(&workspace.snapshot().of_agent(agent)?.config.blueprint);
    let is_stored =
        |layer: &Layer| matches!(layer.source, Source::Stored { .. } | Source::Template { path: None, .. });
    if !blueprint.layers.iter().any(is_stored) {
        return Ok(None);
    }
    let Some(stored) = Stored::open_existing(workspace, world)? else { return Ok(None) };
    let texts = stored.wait(stored.store.current_texts(&blueprint.name))?;
    // Layers that were never stored are at this program's defaults anyway: looking at a prompt writes nothing for them.
    if texts.layers().next().is_none() {
        return Ok(Some(Arc::new(texts)));
    }
    let recorded = stored.wait(stored.store.sync_defaults(&blueprint, now(world)))?;
    if recorded.is_empty() {
        return Ok(Some(Arc::new(texts)));
    }
    Ok(Some(Arc::new(stored.wait(stored.store.current_texts(&blueprint.name))?)))
}

/// The prompt for `request`, as a new conversation would get it: a source that fails is replaced by its last good version, if
/// one is stored.
pub(crate) fn build(workspace: &Workspace, request: &Request, world: &World) -> Result<Arc<Built>, Failure> {
    let built = workspace.build(request);
    if built.as_ref().is_ok_and(|built| built.sources.failures.is_empty()) {
        return Ok(built?);
    }
    let Some(stored) = Stored::open_existing(workspace, world)? else { return Ok(built?) };
    let last_good = Some(Arc::new(stored.wait(stored.store.last_good_sources())?));
    Ok(workspace.build(&Request { last_good, ..request.clone() })?)
}

/// The stored settings of a conversation. `None` if no conversation is named, or nothing was ever stored.
pub(crate) fn settings(
    conversation: Option<&str>,
    workspace: &Workspace,
    world: &World,
) -> Result<Option<ConversationSettings>, Failure> {
    let Some(id) = conversation.and_then(|id| ConversationId::new(id).ok()) else { return Ok(None) };
    let Some(stored) = Stored::open_existing(workspace, world)? else { return Ok(None) };
    Ok(Some(stored.wait(stored.store.conversation_settings(&id))?))
}

/// What is there to be replaced. A damaged text is told of, and no obstacle: it goes.
pub(crate) fn damaged_or<T>(
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

/// The most characters of an author's name or a message.
const LINE: usize = 500;

/// Refuses words for the history that say nothing, or too much for a line.
pub(crate) fn fits_a_line(words: &str) -> Result<(), Failure> {
    match words.chars().count() {
        0 => Err(Failure::usage("an author or a message is empty", "leave it out, or say something")),
        count if count > LINE => Err(Failure::usage(
            format!("an author or a message has {count} characters, {LINE} are allowed"),
            "say it shorter",
        )),
        _ => Ok(()),
    }
}

/// The time, as it is stored.
pub(crate) fn now(world: &World) -> Timestamp {
    world.now.timestamp().into()
}

/// Who sits at the terminal, by name: the author of what is stored from here.
pub(crate) fn author(config: &Config) -> String {
    let channel = foreword_prompt::occasion::Channel::new(foreword_workspace::request::TERMINAL);
    config.user_at(&channel).map_or_else(|| "owner".to_owned(), |user| user.name.to_string())
}

/// Where the store is.
pub(crate) fn location(workspace: &Workspace, world: &World) -> Result<Location, Failure> {
    match &world.store_url {
        None => Ok(Location::new(&workspace.snapshot().config.store_url, workspace.directory())),
        Some(Ok(url)) => Ok(Location::new(url, workspace.directory())),
        Some(Err(bad)) => Err(Failure::usage(format!("`{STORE_URL_VARIABLE}`: {bad}"), bad.help())),
    }
}

/// What runs the futures of a command.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| {
        Failure::failed(format!("no runtime: {error}"), "check the operating system's limits")
    })
}
