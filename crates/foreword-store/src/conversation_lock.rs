//! The lock on a conversation, which all writers of the conversation take first.

use foreword_core::id::ConversationId;

use crate::engine::{Transaction, values};
use crate::error::StoreError;

/// Takes the conversation's lock until the transaction ends.
pub(crate) async fn lock(sql: &mut Transaction<'_>, id: &ConversationId) -> Result<(), StoreError> {
    sql.lock(&format!("conversation:{id}")).await
}

/// Fails if there is no such conversation. The caller holds its lock.
pub(crate) async fn must_exist(sql: &mut Transaction<'_>, id: &ConversationId) -> Result<(), StoreError> {
    let found = sql.query_optional("SELECT id FROM conversations WHERE id = ?1", values![id]).await?;
    found.map(drop).ok_or_else(|| not_found(id))
}

/// The error for an unknown conversation.
pub(crate) fn not_found(id: &ConversationId) -> StoreError {
    StoreError::NotFound { what: "conversation", id: id.to_string() }
}
