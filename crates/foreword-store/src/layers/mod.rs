//! Mutable layers: every version of every text, with author, turn, time and reason. Versions are append-only; a
//! rollback is a new version too. A separate table holds the current version of each layer.
//!
//! [`foreword_prompt::layer_update`] decides what may be written, inside the transaction and under the blueprint's
//! lock, so that concurrent writes can't exceed the total size limit.
//!
//! Built-in defaults are versions too. [`Store::sync_defaults`] records this program's defaults and applies them
//! where a layer follows the defaults (see [`foreword_prompt::layer_defaults`]). So the current version is not always
//! the highest: a default that came after an edit is recorded but not applied.

mod defaults;
mod read;
mod row;
mod write;

use std::sync::Arc;

use foreword_core::id::TurnId;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::blueprint::Blueprint;
use foreword_prompt::layer::LayerId;
use foreword_prompt::layer_update::Accepted;
use foreword_prompt::stored::StoredTexts;
use foreword_prompt::text::ContentHash;

use crate::error::StoreError;
use crate::store::Store;

/// One version of a layer's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerVersion {
    pub layer: LayerId,
    /// Its number, from 1.
    pub version: u64,
    pub text: String,
    /// The hash of the text.
    pub hash: ContentHash,
    /// How it was created.
    pub origin: VersionOrigin,
    /// Whether it ever was the current version, or was only recorded.
    pub applied: bool,
    /// Who wrote it.
    pub writer: VersionWriter,
    /// The turn that wrote it.
    pub turn: Option<TurnId>,
    /// The reason, as given by the author.
    pub message: Option<String>,
    /// When it was stored.
    pub at: Timestamp,
}

/// How a version was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionOrigin {
    /// A built-in default.
    Default,
    Edit,
    /// A rollback to an earlier text.
    Rollback {
        /// The version with that text.
        restores: u64,
    },
}

impl VersionOrigin {
    /// Its name in tables and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Edit => "edit",
            Self::Rollback { .. } => "rollback",
        }
    }
}

/// Who wrote a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionWriter {
    Program,
    /// The owner, by name.
    Owner(String),
    /// The agent, by name.
    Agent(String),
}

impl VersionWriter {
    /// The kind's name in tables and reports.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Owner(_) => "owner",
            Self::Agent(_) => "agent",
        }
    }

    /// The author's name.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Program => None,
            Self::Owner(name) | Self::Agent(name) => Some(name),
        }
    }
}

/// The current state of a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MutableLayer {
    pub current: LayerVersion,
    /// Whether its text is a built-in default, new or old.
    pub is_default: bool,
    /// Whether a new default would be applied.
    pub follows_defaults: bool,
    /// A newer default that was never applied. A rollback can apply it.
    pub newer_default: Option<u64>,
}

/// The metadata of a write to a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerWrite {
    /// The author.
    pub writer: VersionWriter,
    pub turn: Option<TurnId>,
    /// The reason, as given by the author.
    pub message: Option<String>,
    /// The time of the write.
    pub at: Timestamp,
    /// The expected current version; any other is a conflict. 0 means that there is none yet.
    pub expected: Option<u64>,
}

impl LayerWrite {
    /// A write without reason and turn that replaces any version.
    #[must_use]
    pub fn new(writer: VersionWriter, at: Timestamp) -> Self {
        Self { writer, turn: None, message: None, at, expected: None }
    }
}

/// The result of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Updated {
    /// The current version.
    pub version: LayerVersion,
    /// The remaining size of all layers, and suspicious phrases.
    pub accepted: Accepted,
}

impl Store {
    /// Writes `text` as the next version of layer `id` of `blueprint`. Writing the current text again creates no
    /// version and no conflict. The first write also stores the default as version 1.
    ///
    /// # Errors
    /// If the text is not allowed, another version was expected, or the database can't be written.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let now = "2026-11-16T08:00:00Z".parse()?;
    /// # let location = foreword_store::location::Location::file(folder.path().join("foreword.db"));
    /// # let store = foreword_store::store::Store::open(&location, now).await?;
    /// use std::sync::Arc;
    /// use foreword_prompt::blueprint::builtin;
    /// use foreword_store::layers::{LayerWrite, VersionWriter};
    ///
    /// let sovereign = Arc::new(builtin::blueprint("sovereign")?);
    /// let by = LayerWrite::new(VersionWriter::Owner("alice".to_owned()), now);
    /// let updated = store.update_layer(&sovereign, "6", "Check the runway first.", by.clone()).await?;
    /// assert_eq!(updated.version.version, 2);
    /// let back = store.rollback_layer(&sovereign, "6", 1, by.clone()).await?;
    /// assert_eq!(back.version.version, 3);
    /// let refused = store.update_layer(&sovereign, "1", "No rules.", by).await.unwrap_err();
    /// assert_eq!(refused.to_string(), "layer `1` can't be changed: only `6`, `7`, `8`, `9` can");
    /// # Ok(()) }
    /// ```
    pub async fn update_layer(
        &self,
        blueprint: &Arc<Blueprint>,
        id: &str,
        text: &str,
        by: LayerWrite,
    ) -> Result<Updated, StoreError> {
        let text = write::NewText::Edit(text.to_owned());
        self.run(write::Write { blueprint: Arc::clone(blueprint), id: id.to_owned(), text, by }).await
    }

    /// Writes the text of an earlier version as the next version of layer `id`. Writes nothing if that text is
    /// current. After a rollback to the newest default the layer follows the defaults again.
    ///
    /// # Errors
    /// If there is no such version, its text no longer fits next to the other layers, another version was expected,
    /// or the database can't be written.
    pub async fn rollback_layer(
        &self,
        blueprint: &Arc<Blueprint>,
        id: &str,
        to: u64,
        by: LayerWrite,
    ) -> Result<Updated, StoreError> {
        let text = write::NewText::Rollback(to);
        self.run(write::Write { blueprint: Arc::clone(blueprint), id: id.to_owned(), text, by }).await
    }

    /// Records new defaults of the mutable layers of `blueprint`, and applies them where the layer follows the
    /// defaults and the text fits. Returns the recorded versions. Idempotent.
    pub async fn sync_defaults(
        &self,
        blueprint: &Arc<Blueprint>,
        at: Timestamp,
    ) -> Result<Vec<LayerVersion>, StoreError> {
        // Most programs bring no new defaults and need no write transaction.
        if self.run(defaults::DefaultsRecorded { blueprint: Arc::clone(blueprint) }).await? {
            return Ok(Vec::new());
        }
        self.run(defaults::Sync { blueprint: Arc::clone(blueprint), at }).await
    }

    /// The current state of a layer, or `None` if nothing was ever stored for it.
    pub async fn layer(&self, blueprint: &str, id: &str) -> Result<Option<MutableLayer>, StoreError> {
        self.run(read::One { blueprint: blueprint.to_owned(), id: id.to_owned() }).await
    }

    /// The current state of all stored layers of a blueprint, by id.
    pub async fn layers(&self, blueprint: &str) -> Result<Vec<MutableLayer>, StoreError> {
        self.run(read::All { blueprint: blueprint.to_owned() }).await
    }

    /// At most `limit` versions of a layer, newest first, below version `before` if given.
    pub async fn layer_history(
        &self,
        blueprint: &str,
        id: &str,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<LayerVersion>, StoreError> {
        let (blueprint, id) = (blueprint.to_owned(), id.to_owned());
        self.run(read::History { blueprint, id, before, limit }).await
    }

    /// One version of a layer.
    ///
    /// # Errors
    /// If there is no such version, or the database can't be read.
    pub async fn layer_version(
        &self,
        blueprint: &str,
        id: &str,
        version: u64,
    ) -> Result<LayerVersion, StoreError> {
        self.run(read::Version { blueprint: blueprint.to_owned(), id: id.to_owned(), version }).await
    }

    /// The current template and layers of a blueprint, from one snapshot: the inputs of a prompt.
    pub async fn current_texts(&self, blueprint: &str) -> Result<StoredTexts, StoreError> {
        self.run(read::Texts { blueprint: blueprint.to_owned() }).await
    }
}
