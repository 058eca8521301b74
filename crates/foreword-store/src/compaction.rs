//! Compaction: replaces a history by its summary and opens an epoch, atomically.

use foreword_core::history::History;
use foreword_core::id::{ConversationId, MessageId, TurnId};
use foreword_core::message::{ContentBlock, Kind, Message, NewMessage, Role, Usage};
use foreword_prompt::epoch::EpochTriggers;

use crate::conversation_lock;
use crate::engine::{Access, Operation, Transaction, values};
use crate::epochs::{self, ProposedEpoch, StoredEpoch};
use crate::error::StoreError;
use crate::messages;
use crate::store::Store;
use crate::turns::{TurnLease, check_fence};

/// A compaction. Conversation, trust and time are those of the epoch.
///
/// Take the values from the summarised history: `expected` is [`History::compaction`], and [`History::may_cover`]
/// limits `covered_to`.
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    /// The epoch to open.
    pub epoch: ProposedEpoch,
    /// The last message the summary covers. Later messages stay in the history, after the summary.
    pub covered_to: u64,
    pub summary: Summary,
    /// How often the conversation had been compacted when the summary was made. The compaction fails if another one
    /// came first.
    pub expected: u64,
    /// The lease of the turn that compacts. The compaction fails if the lease is lost.
    pub hold: Option<TurnLease>,
}

/// The summary that replaces the covered messages. It becomes a `user` message at the epoch's trust, because it is
/// data. Its provenance is `outside` if any covered message's is.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Its id as a message.
    pub id: MessageId,
    pub content: Vec<ContentBlock>,
    /// The turn that wrote it.
    pub turn: Option<TurnId>,
    /// The tokens used to write it.
    pub usage: Option<Usage>,
}

/// A compacted history.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactedHistory {
    /// The compaction's number in the conversation, from 1.
    pub number: u64,
    pub summary: Message,
    /// The epoch opened with it.
    pub epoch: StoredEpoch,
}

impl Store {
    /// Replaces a history by its summary and opens an epoch, in one transaction. [`Store::all_messages`] still
    /// returns the covered messages. Idempotent: repeating a compaction returns the first result.
    ///
    /// # Errors
    /// If another compaction came first, the lease was lost, the messages can't be covered, or the database can't be
    /// written. Nothing has changed then.
    pub async fn compact(&self, compaction: Compaction) -> Result<CompactedHistory, StoreError> {
        self.run(Compact(compaction)).await
    }
}

struct Compact(Compaction);

impl Operation for Compact {
    type Output = CompactedHistory;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<CompactedHistory, StoreError> {
        let Compaction { epoch, covered_to, expected, hold, .. } = &self.0;
        let conversation = &epoch.conversation;
        conversation_lock::lock(sql, conversation).await?;
        conversation_lock::must_exist(sql, conversation).await?;
        if let Some(hold) = hold {
            check_fence(sql, hold).await?;
        }
        let history = messages::live(sql, conversation).await?;
        if history.compaction != *expected {
            return match self.done_before(sql, &history).await? {
                Some(before) => Ok(before),
                None => Err(StoreError::VersionConflict {
                    what: "the history of conversation",
                    id: conversation.to_string(),
                    expected: *expected,
                    found: history.compaction,
                }),
            };
        }
        history.may_cover(*covered_to, epoch.dependencies.hard.trust).map_err(|reason| {
            StoreError::Refused {
                what: "the history of conversation",
                id: conversation.to_string(),
                reason: reason.to_string(),
            }
        })?;
        let summary = messages::append(sql, &self.summary(&history)).await?;
        let compacting = EpochTriggers { compacting: true, ..epoch.triggers };
        let opened = epochs::open_or_reuse(sql, epoch, compacting).await?.into_epoch();
        let number = expected + 1;
        sql.execute(
            "INSERT INTO compactions (conversation_id, number, covered_to, summary_seq, epoch, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            values![conversation, number, *covered_to, summary.seq, opened.info.number, epoch.at],
        )
        .await?;
        Ok(CompactedHistory { number, summary, epoch: opened })
    }
}

const EPOCH_OF: &str = "SELECT epoch FROM compactions WHERE conversation_id = ?1 AND number = ?2";

/// For the test that no query scans all conversations.
#[cfg(test)]
pub(crate) const STATEMENTS: &[&str] = &[EPOCH_OF];

impl Compact {
    /// The result of this compaction, if it was committed before and the caller retries.
    async fn done_before(
        &self,
        sql: &mut Transaction<'_>,
        history: &History,
    ) -> Result<Option<CompactedHistory>, StoreError> {
        let Compaction { epoch, summary, expected, .. } = &self.0;
        let number = expected + 1;
        let Some(stored) = history.messages.first().filter(|first| first.message.id == summary.id) else {
            return Ok(None);
        };
        if history.compaction != number {
            return Ok(None);
        }
        let conversation: &ConversationId = &epoch.conversation;
        let Some(row) = sql.query_optional(EPOCH_OF, values![conversation, number]).await? else {
            return Ok(None);
        };
        let epoch = epochs::numbered(sql, conversation, row.get(0)?).await?;
        Ok(Some(CompactedHistory { number, summary: stored.clone(), epoch }))
    }

    fn summary(&self, history: &History) -> NewMessage {
        let Compaction { epoch, covered_to, summary, .. } = &self.0;
        NewMessage {
            id: summary.id.clone(),
            conversation: epoch.conversation.clone(),
            role: Role::User,
            kind: Kind::Summary,
            content: summary.content.clone(),
            trust: epoch.dependencies.hard.trust,
            provenance: history.summary_provenance(*covered_to),
            author: None,
            turn: summary.turn.clone(),
            usage: summary.usage,
            at: epoch.at,
        }
    }
}
