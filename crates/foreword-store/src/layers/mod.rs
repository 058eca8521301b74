//! Mutable layers: every version of every text, with who wrote it, in which turn, when and why. Rows are added and never
//! changed; a rollback is a new version too, and beside them stands which version of each layer is in force.
//!
//! What may be written is decided by [`foreword_prompt::layer_update`], inside the transaction and under a lock for the
//! blueprint: whoever writes, and however many at once, all layers together stay within their limit.
//!
//! Built-in defaults are versions as well. [`Store::sync_defaults`] puts those of this program on record, and in force
//! where a layer follows the defaults ([`foreword_prompt::layer_defaults`] has the rule). The version in force is
//! therefore not always the highest: a default that came after an edit waits on record.

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
    /// The layer.
    pub layer: LayerId,
    /// Its number; the first is 1.
    pub version: u64,
    /// The text.
    pub text: String,
    /// The name of its content.
    pub hash: ContentHash,
    /// How it came to be.
    pub origin: Origin,
    /// Whether it was put in force, or only on record.
    pub applied: bool,
    /// Who wrote it.
    pub writer: Writer,
    /// The turn it was written in.
    pub turn: Option<TurnId>,
    /// Why, in the writer's words.
    pub message: Option<String>,
    /// When it was stored.
    pub at: Timestamp,
}

/// How a version came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Brought by the program.
    Default,
    /// Written.
    Edit,
    /// An earlier text again.
    Rollback {
        /// The version whose text it is.
        restores: u64,
    },
}

impl Origin {
    /// The word for it in tables and reports.
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
pub enum Writer {
    /// The program brought it.
    Program,
    /// The owner, by name.
    Owner(String),
    /// The agent, by name.
    Agent(String),
}

impl Writer {
    /// The word for the kind of writer in tables and reports.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Owner(_) => "owner",
            Self::Agent(_) => "agent",
        }
    }

    /// The writer's name.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Program => None,
            Self::Owner(name) | Self::Agent(name) => Some(name),
        }
    }
}

/// A layer as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MutableLayer {
    /// The version in force.
    pub current: LayerVersion,
    /// Whether its text is a default, be it an old one.
    pub is_default: bool,
    /// Whether a new default would become its text.
    pub follows_defaults: bool,
    /// A newer default that has never been in force; it can be rolled back to.
    pub newer_default: Option<u64>,
}

/// Who writes a layer, when and why, and what they think they replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerWrite {
    /// Who.
    pub writer: Writer,
    /// In which turn.
    pub turn: Option<TurnId>,
    /// Why, in the writer's words.
    pub message: Option<String>,
    /// When.
    pub at: Timestamp,
    /// The version in force, if the writer says so; another one is then a conflict. 0 is "there is none yet".
    pub expected: Option<u64>,
}

impl LayerWrite {
    /// A write without a message, outside any turn, that replaces whatever is in force.
    #[must_use]
    pub fn new(writer: Writer, at: Timestamp) -> Self {
        Self { writer, turn: None, message: None, at, expected: None }
    }
}

/// A layer that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Updated {
    /// The version in force now.
    pub version: LayerVersion,
    /// What all layers together may still grow by, and phrases worth a second look.
    pub accepted: Accepted,
}

impl Store {
    /// Gives layer `id` of `blueprint` the text `text`, as its next version. The text that is in force already is no new
    /// version, and no conflict. A layer that nobody has written before gets its default as version 1 first.
    ///
    /// # Errors
    /// If the layer may not have this text, another version was expected, or it can't be written.
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
    /// use foreword_store::layers::{LayerWrite, Writer};
    ///
    /// let sovereign = Arc::new(builtin::blueprint("sovereign")?);
    /// let by = LayerWrite::new(Writer::Owner("alice".to_owned()), now);
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

    /// Gives layer `id` of `blueprint` the text of an earlier version again, as its next version. Where that text is in
    /// force already, nothing is written. Back at the newest default, the layer follows the defaults again.
    ///
    /// # Errors
    /// If there is no such version, its text does not fit beside the others any more, another version was expected, or
    /// it can't be written.
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

    /// Puts the default of each mutable layer of `blueprint` on record if it is new, and in force where the layer follows
    /// the defaults and the text fits beside the others. Gives what was recorded; a second time, nothing.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn sync_defaults(
        &self,
        blueprint: &Arc<Blueprint>,
        at: Timestamp,
    ) -> Result<Vec<LayerVersion>, StoreError> {
        // Most programs bring nothing new, and need not wait for those who write.
        if self.run(defaults::Known { blueprint: Arc::clone(blueprint) }).await? {
            return Ok(Vec::new());
        }
        self.run(defaults::Sync { blueprint: Arc::clone(blueprint), at }).await
    }

    /// A layer as it is now, or `None` if nothing was ever stored for it.
    ///
    /// # Errors
    /// If it can't be read.
    pub async fn layer(&self, blueprint: &str, id: &str) -> Result<Option<MutableLayer>, StoreError> {
        self.run(read::One { blueprint: blueprint.to_owned(), id: id.to_owned() }).await
    }

    /// Every stored layer of a blueprint as it is now, by id.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn layers(&self, blueprint: &str) -> Result<Vec<MutableLayer>, StoreError> {
        self.run(read::All { blueprint: blueprint.to_owned() }).await
    }

    /// The versions of a layer below `before`, or all, the newest first and at most `limit`.
    ///
    /// # Errors
    /// If they can't be read.
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
    /// If there is no such version, or it can't be read.
    pub async fn layer_version(
        &self,
        blueprint: &str,
        id: &str,
        version: u64,
    ) -> Result<LayerVersion, StoreError> {
        self.run(read::Version { blueprint: blueprint.to_owned(), id: id.to_owned(), version }).await
    }

    /// The template and the layers of a blueprint, all as they are at one moment: what a prompt is built from.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn current_texts(&self, blueprint: &str) -> Result<StoredTexts, StoreError> {
        self.run(read::Texts { blueprint: blueprint.to_owned() }).await
    }
}
