//! How much there is of a conversation: what it weighs, and how many messages, summaries and epochs it has. Reads none of
//! its words.

use foreword_core::id::ConversationId;
use foreword_core::message::Kind;

use crate::engine::{Access, Operation, Sql, values};
use crate::error::StoreError;
use crate::store::Store;

/// How much there is of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    /// How many messages people and agents wrote, and Foreword for them.
    pub messages: u64,
    /// How many of them a summary stands for.
    pub covered: u64,
    /// How often it was compacted.
    pub compactions: u64,
    /// How many epochs its prompt has had.
    pub epochs: u64,
    /// What it weighs, in tokens, as its last answer reported.
    pub weight: u64,
}

impl Store {
    /// What a conversation weighs, in tokens, as its last answer reported; 0 if none did.
    ///
    /// # Errors
    /// If it can't be read.
    pub async fn weight(&self, conversation: &ConversationId) -> Result<u64, StoreError> {
        self.run(Weight(conversation.clone())).await
    }

    /// How much there is of a conversation.
    ///
    /// # Errors
    /// If it can't be read.
    pub async fn extent(&self, conversation: &ConversationId) -> Result<Extent, StoreError> {
        self.run(Measure(conversation.clone())).await
    }
}

const LAST_USAGE: &str = "SELECT kind, tokens_in, tokens_out, cache_read, cache_write FROM messages
     WHERE conversation_id = ?1 AND tokens_in IS NOT NULL ORDER BY seq DESC LIMIT 1";
// What was sent stands for what was said, and a summary for what it covers: neither is one more.
const MESSAGES: &str = "SELECT COUNT(*) FROM messages
     WHERE conversation_id = ?1 AND seq <= ?2 AND kind IN ('message', 'notice')";
const LAST_COVERED: &str = "SELECT number, covered_to FROM compactions
     WHERE conversation_id = ?1 ORDER BY number DESC LIMIT 1";
const EPOCHS: &str = "SELECT COUNT(*) FROM epochs WHERE conversation_id = ?1";

/// For the test that nothing grows with the number of conversations.
#[cfg(test)]
pub(crate) const STATEMENTS: &[&str] = &[LAST_USAGE, MESSAGES, LAST_COVERED, EPOCHS];

struct Weight(ConversationId);

impl Operation for Weight {
    type Output = u64;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<u64, StoreError> {
        weight(sql, &self.0).await
    }
}

async fn weight<S: Sql>(sql: &mut S, conversation: &ConversationId) -> Result<u64, StoreError> {
    let Some(row) = sql.query_optional(LAST_USAGE, values![conversation]).await? else { return Ok(0) };
    let output: u64 = row.get(2)?;
    // What a summary was made from is not in the history any more.
    if row.get::<String>(0)? == Kind::Summary.as_str() {
        return Ok(output);
    }
    Ok(output + row.get::<u64>(1)? + row.get::<u64>(3)? + row.get::<u64>(4)?)
}

struct Measure(ConversationId);

impl Operation for Measure {
    type Output = Extent;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Extent, StoreError> {
        let conversation = &self.0;
        let (compactions, covered_to) = match sql.query_optional(LAST_COVERED, values![conversation]).await? {
            Some(row) => (row.get(0)?, row.get(1)?),
            None => (0, 0),
        };
        Ok(Extent {
            messages: count(sql, conversation, u64::MAX).await?,
            covered: count(sql, conversation, covered_to).await?,
            compactions,
            epochs: match sql.query_optional(EPOCHS, values![conversation]).await? {
                Some(row) => row.get(0)?,
                None => 0,
            },
            weight: weight(sql, conversation).await?,
        })
    }
}

/// How many messages there are up to a place.
async fn count<S: Sql>(sql: &mut S, conversation: &ConversationId, up_to: u64) -> Result<u64, StoreError> {
    match sql.query_optional(MESSAGES, values![conversation, up_to]).await? {
        Some(row) => row.get(0),
        None => Ok(0),
    }
}
