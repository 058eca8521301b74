//! The frozen prompts of conversations: read, reused, opened anew.
//!
//! A conversation has one line of epochs, numbered from 1. Each belongs to one trust, and the last is the one in force,
//! at that trust and at no other. So when trust falls, a new epoch opens, always; and when it comes back, a new one opens
//! too: the prompt that was in force before the fall is not taken up again, because what was said in between was said on
//! another one. That costs a row, not a text: frozen texts are stored once for each content, and one that reads as it
//! did before is still what the provider has in its cache.

mod frozen;
mod open;
mod read;

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_core::id::ConversationId;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::epoch::{Circumstances, Dependencies, Reason};
use foreword_prompt::text::ContentHash;
use foreword_prompt::trust::Trust;

use crate::error::StoreError;
use crate::openings::Opening;
use crate::store::Store;

pub use frozen::{FrozenBlock, FrozenLayer, FrozenPrompt};
pub(crate) use open::{drop_unused_texts, open_or_reuse, texts_of};
pub(crate) use read::{newest, numbered};

/// What is asked on the way of a turn, for the test that none of it grows with the number of conversations.
#[cfg(test)]
pub(crate) const STATEMENTS: &[&str] =
    &[read::NEWEST, read::NUMBERED, read::ALL, open::TEXTS_OF, open::DROP_UNUSED];

/// A prompt as it would be frozen now, for a conversation that may have one already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    /// The conversation.
    pub conversation: ConversationId,
    /// The prompt.
    pub prompt: FrozenPrompt,
    /// What it was built from, the trust included.
    pub dependencies: Dependencies,
    /// What happens at this turn besides the turn itself.
    pub circumstances: Circumstances,
    /// The versions of the mutable layers in it, by name.
    pub layer_versions: BTreeMap<String, u64>,
    /// The version of the stored template, if it was built from that.
    pub template_version: Option<u64>,
    /// When.
    pub at: Timestamp,
}

/// What is known of an epoch besides its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpochInfo {
    /// Its place among the conversation's epochs; the first is 1.
    pub number: u64,
    /// Who may see it.
    pub trust: Trust,
    /// The name of the frozen bytes.
    pub fingerprint: ContentHash,
    /// One name for everything it was built from.
    pub built_from: ContentHash,
    /// Why it was opened.
    pub reason: Reason,
    /// What it weighs.
    pub tokens: u64,
    /// The versions of the mutable layers in it, by name.
    pub layer_versions: BTreeMap<String, u64>,
    /// The version of the stored template it was built from.
    pub template_version: Option<u64>,
    /// When it was opened.
    pub opened_at: Timestamp,
}

/// An epoch, with the text as it was frozen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEpoch {
    /// What is known of it.
    pub info: EpochInfo,
    /// The prompt, byte for byte.
    pub prompt: FrozenPrompt,
    /// What it was built from.
    pub dependencies: Dependencies,
}

/// The epoch that a turn is to run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InForce {
    /// The one that was there, with the same bytes.
    Reused {
        /// The epoch.
        epoch: StoredEpoch,
        /// The names of the texts that would read differently now; the model is told in a note.
        drifted: Vec<Arc<str>>,
    },
    /// A new one; its reason is in it.
    Opened(StoredEpoch),
}

impl InForce {
    /// The epoch, whichever way.
    #[must_use]
    pub fn epoch(&self) -> &StoredEpoch {
        match self {
            Self::Reused { epoch, .. } | Self::Opened(epoch) => epoch,
        }
    }

    /// The epoch alone.
    #[must_use]
    pub fn into_epoch(self) -> StoredEpoch {
        match self {
            Self::Reused { epoch, .. } | Self::Opened(epoch) => epoch,
        }
    }
}

impl Store {
    /// The epoch to run a turn on: the one in force if it may be used again, else `proposed` as the next one. Of several
    /// who ask at once, one opens it and the others get that one.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use foreword_core::id::ConversationId;
    /// # use foreword_prompt::epoch::{Circumstances, Dependencies, HardDependencies, Reason};
    /// # use foreword_prompt::{text::ContentHash, trust::Trust};
    /// # use foreword_store::epochs::{FrozenPrompt, InForce, Proposed};
    /// # use foreword_store::{conversations::NewConversation, location::Location, store::Store};
    /// # let folder = tempfile::tempdir()?;
    /// # let at: foreword_core::timestamp::Timestamp = "2026-11-16T08:00:00Z".parse()?;
    /// # let store = Store::open(&Location::file(folder.path().join("foreword.db")), at).await?;
    /// # let conversation = ConversationId::new("c-1")?;
    /// # store.create_conversation(NewConversation::new(conversation.clone(), "Assistant", "direct", at)).await?;
    /// # let hard = HardDependencies { trust: Trust::Full, agent: "a".into(), blueprint: "b".into(), cwd: "/".into(),
    /// #     tools: ContentHash::of(""), channel_family: None, model_family: "claude".into(), personal_to: None,
    /// #     session_instructions: None, context: None };
    /// # let built = |text: &str| Proposed { conversation: conversation.clone(),
    /// #     prompt: FrozenPrompt { text: text.into(), tokens: 3, blocks: vec![], layers: vec![] },
    /// #     dependencies: Dependencies { hard: hard.clone(), soft: [("soul".into(), ContentHash::of(text))].into() },
    /// #     circumstances: Circumstances::default(), layer_versions: Default::default(), template_version: None, at };
    /// let first = store.epoch_for(built("You are kind.")).await?;
    /// assert_eq!(first.epoch().info.reason, Reason::FirstTurn);
    ///
    /// // The file is edited: the conversation goes on with what was frozen, and the model can be told.
    /// let later = store.epoch_for(built("You are strict.")).await?;
    /// let InForce::Reused { epoch, drifted } = later else { panic!("opened") };
    /// assert_eq!((&*epoch.prompt.text, &*drifted[0]), ("You are kind.", "soul"));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If there is no such conversation, the text in force is damaged, or it can't be written.
    pub async fn epoch_for(&self, proposed: Proposed) -> Result<InForce, StoreError> {
        let proposed = Arc::new(proposed);
        // Most turns change nothing, and need not wait for those who write.
        match self.run(open::Reuse(Arc::clone(&proposed))).await? {
            Some(reused) => Ok(reused),
            None => self.run(open::Open(proposed)).await,
        }
    }

    /// The same for somebody who has read the conversation already: what is there is not read again.
    ///
    /// # Errors
    /// As [`Store::epoch_for`].
    pub async fn epoch_after(&self, opening: Opening, proposed: Proposed) -> Result<InForce, StoreError> {
        match open::reusable(opening.epoch, &proposed)? {
            Some(reused) => Ok(reused),
            None => self.run(open::Open(Arc::new(proposed))).await,
        }
    }

    /// The epoch in force at `trust` for `person`, or `None` if there is none: nothing is frozen yet, or it is frozen for
    /// another trust, or it holds what is another person's alone.
    ///
    /// # Errors
    /// If its text is not what was frozen, or it can't be read.
    pub async fn epoch(
        &self,
        conversation: &ConversationId,
        trust: Trust,
        person: Option<&str>,
    ) -> Result<Option<StoredEpoch>, StoreError> {
        self.run(read::InForceAt(conversation.clone(), trust, person.map(str::to_owned))).await
    }

    /// The newest epoch of a conversation, whatever its trust, or `None` if nothing is frozen yet. For whoever looks at all
    /// conversations; a turn asks for one that it may have.
    ///
    /// # Errors
    /// If its text is not what was frozen, or it can't be read.
    pub async fn newest_epoch(
        &self,
        conversation: &ConversationId,
    ) -> Result<Option<StoredEpoch>, StoreError> {
        self.run(read::Newest(conversation.clone())).await
    }

    /// One epoch of a conversation, in force or not.
    ///
    /// # Errors
    /// If there is no such epoch, its text is not what was frozen, or it can't be read.
    pub async fn epoch_number(
        &self,
        conversation: &ConversationId,
        number: u64,
    ) -> Result<StoredEpoch, StoreError> {
        self.run(read::Numbered(conversation.clone(), number)).await
    }

    /// All epochs of a conversation, the oldest first.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn epochs(&self, conversation: &ConversationId) -> Result<Vec<EpochInfo>, StoreError> {
        self.run(read::All(conversation.clone())).await
    }
}
