//! The scope of a note: whether it may be read while answering the inbox. Notes made while answering one batch are
//! hidden from all others, since they may contain a sender's text.

use foreword_core::id::ConversationId;
use foreword_store::error::StoreError;
use foreword_store::observations::Observation;
use foreword_store::store::Store;

use super::note::is_from_outside;
use crate::conversation::inbound::INBOX;

/// The scope of a note.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NoteScope {
    /// Readable wherever its store is.
    Open,
    /// Readable only in the inbox batch of this conversation.
    Batch(ConversationId),
    /// Its batch is unknown, so it is readable in none.
    NoBatch,
}

impl NoteScope {
    /// Determines the scope of `note`. The situation of a conversation never changes, so neither does the scope.
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

    /// Whether it may be read while answering `batch`; outside the inbox it always may.
    pub(super) fn is_open_to(&self, batch: Option<&ConversationId>) -> bool {
        match (self, batch) {
            (Self::Open, _) | (_, None) => true,
            (Self::Batch(own), Some(batch)) => own == batch,
            (Self::NoBatch, Some(_)) => false,
        }
    }
}
