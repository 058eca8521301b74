//! Epochs: the frozen prompts of conversations.
//!
//! A conversation's epochs are numbered from 1. Each belongs to one trust. The newest epoch is the current one, and
//! only at its own trust. When trust changes in either direction, a new epoch opens: an earlier prompt is never
//! reused, because the messages since then were written under another one. That costs a row, not a text: identical
//! texts are stored once, and the provider's cache still matches them.

mod frozen;
mod open;
mod read;

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_core::id::ConversationId;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::epoch::{Dependencies, EpochTriggers, Reason};
use foreword_prompt::text::ContentHash;
use foreword_prompt::trust::Trust;

use crate::error::StoreError;
use crate::store::Store;

pub use frozen::{FrozenBlock, FrozenLayer, FrozenPrompt};
pub(crate) use open::{Open, drop_unused_texts, open_or_reuse, reusable, texts_of};
pub(crate) use read::{newest, numbered};

/// The statements of a turn, for the test that no query scans all conversations.
#[cfg(test)]
pub(crate) const STATEMENTS: &[&str] =
    &[read::NEWEST, read::NUMBERED, read::ALL, open::TEXTS_OF, open::DROP_UNUSED];

/// The prompt that would be frozen now. The conversation may have one already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedEpoch {
    pub conversation: ConversationId,
    pub prompt: FrozenPrompt,
    /// What it was built from, including the trust.
    pub dependencies: Dependencies,
    /// Events of this turn that affect the decision, such as a compaction.
    pub triggers: EpochTriggers,
    /// The versions of its mutable layers, by name.
    pub layer_versions: BTreeMap<String, u64>,
    /// The version of the stored template, if it was built from one.
    pub template_version: Option<u64>,
    /// The current time.
    pub at: Timestamp,
}

/// The metadata of an epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpochInfo {
    /// Its number in the conversation, from 1.
    pub number: u64,
    pub trust: Trust,
    /// The hash of the frozen bytes.
    pub fingerprint: ContentHash,
    /// A hash of everything it was built from.
    pub built_from: ContentHash,
    /// Why it was opened.
    pub reason: Reason,
    /// Its size in tokens.
    pub tokens: u64,
    /// The versions of its mutable layers, by name.
    pub layer_versions: BTreeMap<String, u64>,
    /// The version of the stored template it was built from.
    pub template_version: Option<u64>,
    /// When it was opened.
    pub opened_at: Timestamp,
}

/// An epoch with its frozen text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEpoch {
    /// Its metadata.
    pub info: EpochInfo,
    /// The prompt, byte for byte.
    pub prompt: FrozenPrompt,
    /// What it was built from.
    pub dependencies: Dependencies,
}

/// The epoch for a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CurrentEpoch {
    /// The existing epoch, with the same bytes.
    Reused {
        epoch: StoredEpoch,
        /// The names of the texts that have changed since. A note informs the model.
        drifted: Vec<Arc<str>>,
    },
    /// A new epoch; it contains the reason.
    Opened(StoredEpoch),
}

impl CurrentEpoch {
    /// The epoch in either case.
    #[must_use]
    pub fn epoch(&self) -> &StoredEpoch {
        match self {
            Self::Reused { epoch, .. } | Self::Opened(epoch) => epoch,
        }
    }

    /// The epoch in either case.
    #[must_use]
    pub fn into_epoch(self) -> StoredEpoch {
        match self {
            Self::Reused { epoch, .. } | Self::Opened(epoch) => epoch,
        }
    }
}

impl Store {
    /// The epoch for a turn: the current one if it may be reused, else `proposed` becomes the next one. Of several
    /// concurrent callers, one opens it and the others get the same one.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use foreword_core::id::ConversationId;
    /// # use foreword_prompt::epoch::{EpochTriggers, Dependencies, HardDependencies, Reason};
    /// # use foreword_prompt::{text::ContentHash, trust::Trust};
    /// # use foreword_store::epochs::{FrozenPrompt, CurrentEpoch, ProposedEpoch};
    /// # use foreword_store::{conversations::NewConversation, location::Location, store::Store};
    /// # let folder = tempfile::tempdir()?;
    /// # let at: foreword_core::timestamp::Timestamp = "2026-11-16T08:00:00Z".parse()?;
    /// # let store = Store::open(&Location::file(folder.path().join("foreword.db")), at).await?;
    /// # let conversation = ConversationId::new("c-1")?;
    /// # store.create_conversation(NewConversation::new(conversation.clone(), "Assistant", "direct", at)).await?;
    /// # let hard = HardDependencies { trust: Trust::Full, agent: "a".into(), blueprint: "b".into(), cwd: "/".into(),
    /// #     tools: ContentHash::of(""), channel_family: None, model_family: "claude".into(), personal_to: None,
    /// #     session_instructions: None, context: None };
    /// # let built = |text: &str| ProposedEpoch { conversation: conversation.clone(),
    /// #     prompt: FrozenPrompt { text: text.into(), tokens: 3, blocks: vec![], layers: vec![] },
    /// #     dependencies: Dependencies { hard: hard.clone(), soft: [("soul".into(), ContentHash::of(text))].into() },
    /// #     triggers: EpochTriggers::default(), layer_versions: Default::default(), template_version: None, at };
    /// let first = store.epoch_for(built("You are kind.")).await?;
    /// assert_eq!(first.epoch().info.reason, Reason::FirstTurn);
    ///
    /// // After an edit of the file the conversation keeps the frozen prompt, and a note informs the model.
    /// let later = store.epoch_for(built("You are strict.")).await?;
    /// let CurrentEpoch::Reused { epoch, drifted } = later else { panic!("opened") };
    /// assert_eq!((&*epoch.prompt.text, &*drifted[0]), ("You are kind.", "soul"));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If there is no such conversation, the text in force is damaged, or it can't be written.
    pub async fn epoch_for(&self, proposed: ProposedEpoch) -> Result<CurrentEpoch, StoreError> {
        let proposed = Arc::new(proposed);
        // Most turns reuse the epoch and need no write transaction.
        match self.run(open::Reuse(Arc::clone(&proposed))).await? {
            Some(reused) => Ok(reused),
            None => self.run(open::Open(proposed)).await,
        }
    }

    /// The current epoch at `trust` for `person`. `None` if nothing is frozen yet, it is frozen for another trust, or
    /// it contains another person's private text.
    ///
    /// # Errors
    /// If its text is damaged, or the database can't be read.
    pub async fn epoch(
        &self,
        conversation: &ConversationId,
        trust: Trust,
        person: Option<&str>,
    ) -> Result<Option<StoredEpoch>, StoreError> {
        self.run(read::InForceAt(conversation.clone(), trust, person.map(str::to_owned))).await
    }

    /// The newest epoch of a conversation at any trust, or `None` if nothing is frozen yet. For reports; turns use
    /// [`Store::epoch`].
    ///
    /// # Errors
    /// If its text is damaged, or the database can't be read.
    pub async fn newest_epoch(
        &self,
        conversation: &ConversationId,
    ) -> Result<Option<StoredEpoch>, StoreError> {
        self.run(read::Newest(conversation.clone())).await
    }

    /// One epoch of a conversation, current or not.
    ///
    /// # Errors
    /// If there is no such epoch, its text is damaged, or the database can't be read.
    pub async fn epoch_number(
        &self,
        conversation: &ConversationId,
        number: u64,
    ) -> Result<StoredEpoch, StoreError> {
        self.run(read::Numbered(conversation.clone(), number)).await
    }

    /// All epochs of a conversation, the oldest first.
    pub async fn epochs(&self, conversation: &ConversationId) -> Result<Vec<EpochInfo>, StoreError> {
        self.run(read::All(conversation.clone())).await
    }
}
