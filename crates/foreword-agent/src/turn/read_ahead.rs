//! Reads the inputs of a turn while its message is being written to disk, so that they are available when the turn
//! begins. [`prefetch`](super::prefetch) reads them even earlier, after the previous turn.

use foreword_core::id::ConversationId;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use foreword_store::turn_inputs::TurnInputs;
use foreword_store::turns::StartedTurn;
use tokio::task::JoinHandle;

/// The prefetched inputs of a turn.
pub(crate) enum ReadAhead {
    /// The inputs are read.
    Done(Box<TurnInputs>),
    /// The inputs are being read.
    Running(JoinHandle<Result<TurnInputs, StoreError>>),
    /// Nothing is prefetched.
    Nothing,
}

impl ReadAhead {
    /// Starts reading.
    pub(crate) fn start(store: &Store, conversation: &ConversationId) -> Self {
        let (store, conversation) = (store.clone(), conversation.clone());
        Self::Running(tokio::spawn(async move { store.turn_inputs(&conversation).await }))
    }

    /// The inputs of the turn `begun`. `None` if they must be read again: nothing was prefetched, it failed, or the
    /// conversation has changed since.
    pub(crate) async fn followed_by(self, begun: &StartedTurn) -> Option<TurnInputs> {
        let inputs = match self {
            Self::Done(inputs) => *inputs,
            Self::Running(reading) => reading.await.ok()?.ok()?,
            Self::Nothing => return None,
        };
        inputs.followed_by(begun)
    }
}
