//! Reads what a turn will need while its message is still becoming durable. The disk takes longer than the reading, so that
//! a turn finds everything there when it begins.

use foreword_core::id::ConversationId;
use foreword_store::error::StoreError;
use foreword_store::openings::Opening;
use foreword_store::store::Store;
use foreword_store::turns::Begun;
use tokio::task::JoinHandle;

/// What is known of a conversation before a turn begins.
pub(crate) enum ReadAhead {
    /// It has been read.
    Done(Box<Opening>),
    /// It is being read.
    UnderWay(JoinHandle<Result<Opening, StoreError>>),
    /// Nothing: the turn has to read for itself.
    Nothing,
}

impl ReadAhead {
    /// Begins to read.
    pub(crate) fn start(store: &Store, conversation: &ConversationId) -> Self {
        let (store, conversation) = (store.clone(), conversation.clone());
        Self::UnderWay(tokio::spawn(async move { store.opening(&conversation).await }))
    }

    /// What the turn that has begun would read now. `None` if that has to be read: nothing was read ahead, it
    /// failed, or something has happened since.
    pub(crate) async fn followed_by(self, begun: &Begun) -> Option<Opening> {
        let opening = match self {
            Self::Done(opening) => *opening,
            Self::UnderWay(reading) => reading.await.ok()?.ok()?,
            Self::Nothing => return None,
        };
        opening.followed_by(begun)
    }
}
