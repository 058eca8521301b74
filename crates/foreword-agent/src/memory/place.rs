//! Where a note belongs: whether whoever answers the inbox may read it. What was noted over the messages of one batch is
//! kept from all others, since it may be in a sender's words.

use foreword_core::id::ConversationId;
use foreword_store::error::StoreError;
use foreword_store::observations::Observation;
use foreword_store::store::Store;

use super::note::is_from_outside;
use crate::inbound::INBOX;

/// Where a note belongs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// Everywhere that its store may be read.
    Open,
    /// To the batch of the inbox that was answered in this conversation.
    Batch(ConversationId),
    /// Nobody knows over whose messages it was made: to no batch.
    NoBatch,
}

impl Place {
    /// Where `note` belongs. A conversation never changes its situation, so neither does this.
    pub(super) async fn of(note: &Observation, store: &Store) -> Result<Self, StoreError> {
        if !is_from_outside(note) {
            return Ok(Self::Open);
        }
        let Some(id) = &note.conversation else { return Ok(Self::NoBatch) };
        Ok(match store.conversation(id).await? {
            None => Self::NoBatch,
            Some(found) if found.situation == INBOX => Self::Batch(id.clone()),
            Some(_) => Self::Open,
        })
    }

    /// Whether it may be read by whoever answers `batch`; by everybody else it may.
    pub(super) fn is_open_to(&self, batch: Option<&ConversationId>) -> bool {
        match (self, batch) {
            (Self::Open, _) | (_, None) => true,
            (Self::Batch(own), Some(batch)) => own == batch,
            (Self::NoBatch, Some(_)) => false,
        }
    }
}
