//! Reads what a turn will need while its message is still becoming durable. The disk takes longer than the reading, so that
//! a turn finds everything there when it begins.

use foreword_core::id::ConversationId;
use foreword_core::message::Message;
use foreword_store::error::StoreError;
use foreword_store::openings::Opening;
use foreword_store::store::Store;
use tokio::task::JoinHandle;

/// A conversation that is being read, or not.
pub(crate) struct ReadAhead(Option<JoinHandle<Result<Opening, StoreError>>>);

impl ReadAhead {
    /// Begins to read.
    pub(crate) fn start(store: &Store, conversation: &ConversationId) -> Self {
        let (store, conversation) = (store.clone(), conversation.clone());
        Self(Some(tokio::spawn(async move { store.opening(&conversation).await })))
    }

    /// For a turn that has to read for itself.
    pub(crate) fn nothing() -> Self {
        Self(None)
    }

    /// What a turn that has taken up `taken` would read now. `None` if that has to be read: nothing was read ahead, it
    /// failed, or something has happened since.
    pub(crate) async fn followed_by(self, taken: &[Message]) -> Option<Opening> {
        self.0?.await.ok()?.ok()?.followed_by(taken)
    }
}
