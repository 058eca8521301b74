//! The size of a conversation: tokens, messages, compactions and epochs. Reads no message content.

use foreword_core::id::ConversationId;
use foreword_core::message::Kind;

use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;
use crate::store::Store;

/// The size of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConversationSize {
    /// The number of messages, including notices.
    pub messages: u64,
    /// How many of them the summary covers.
    pub covered: u64,
    /// How often it was compacted.
    pub compactions: u64,
    /// How many epochs it has.
    pub epochs: u64,
    /// Its size in tokens, as reported with the last model response.
    pub tokens: u64,
}

impl Store {
    /// The size of a conversation in tokens, as reported with the last model response; 0 if there is none.
    pub async fn conversation_tokens(&self, conversation: &ConversationId) -> Result<u64, StoreError> {
        self.run(Tokens(conversation.clone())).await
    }

    pub async fn conversation_size(
        &self,
        conversation: &ConversationId,
    ) -> Result<ConversationSize, StoreError> {
        self.run(Measure(conversation.clone())).await
    }
}

const LAST_USAGE: &str = "SELECT kind, tokens_in, tokens_out, cache_read, cache_write FROM messages
     WHERE conversation_id = ?1 AND tokens_in IS NOT NULL ORDER BY seq DESC LIMIT 1";
// `sent` and `summary` rows repeat other messages, so they don't count.
const MESSAGES: &str = "SELECT COUNT(*) FROM messages
     WHERE conversation_id = ?1 AND seq <= ?2 AND kind IN ('message', 'notice')";
const LAST_COVERED: &str = "SELECT number, covered_to FROM compactions
     WHERE conversation_id = ?1 ORDER BY number DESC LIMIT 1";
const EPOCHS: &str = "SELECT COUNT(*) FROM epochs WHERE conversation_id = ?1";

/// For the test that no query scans all conversations.
#[cfg(test)]
pub(crate) const STATEMENTS: &[&str] = &[LAST_USAGE, MESSAGES, LAST_COVERED, EPOCHS];

struct Tokens(ConversationId);

impl Operation for Tokens {
    type Output = u64;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<u64, StoreError> {
        tokens(sql, &self.0).await
    }
}

async fn tokens(sql: &mut Transaction<'_>, conversation: &ConversationId) -> Result<u64, StoreError> {
    let Some(row) = sql.query_optional(LAST_USAGE, values![conversation]).await? else { return Ok(0) };
    let output: u64 = row.get(2)?;
    // The messages that a summary was made from have left the history.
    if row.get::<String>(0)? == Kind::Summary.as_str() {
        return Ok(output);
    }
    Ok(output + row.get::<u64>(1)? + row.get::<u64>(3)? + row.get::<u64>(4)?)
}

struct Measure(ConversationId);

impl Operation for Measure {
    type Output = ConversationSize;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<ConversationSize, StoreError> {
        let conversation = &self.0;
        let (compactions, covered_to) = match sql.query_optional(LAST_COVERED, values![conversation]).await? {
            Some(row) => (row.get(0)?, row.get(1)?),
            None => (0, 0),
        };
        Ok(ConversationSize {
            messages: count(sql, conversation, u64::MAX).await?,
            covered: count(sql, conversation, covered_to).await?,
            compactions,
            epochs: match sql.query_optional(EPOCHS, values![conversation]).await? {
                Some(row) => row.get(0)?,
                None => 0,
            },
            tokens: tokens(sql, conversation).await?,
        })
    }
}

/// The number of messages up to sequence number `up_to`.
async fn count(
    sql: &mut Transaction<'_>,
    conversation: &ConversationId,
    up_to: u64,
) -> Result<u64, StoreError> {
    match sql.query_optional(MESSAGES, values![conversation, up_to]).await? {
        Some(row) => row.get(0),
        None => Ok(0),
    }
}
