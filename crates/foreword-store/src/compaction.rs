//! Replacing a history by its summary, together with its epoch: all of it or nothing.

use foreword_core::history::History;
use foreword_core::id::{ConversationId, MessageId, TurnId};
use foreword_core::message::{ContentBlock, Kind, Message, NewMessage, Role, Usage};
use foreword_prompt::epoch::Circumstances;

use crate::conversations;
use crate::engine::{Access, Operation, Sql, values};
use crate::epochs::{self, Proposed, StoredEpoch};
use crate::error::StoreError;
use crate::messages;
use crate::store::Store;
use crate::turns::{Hold, check_hold};

/// A history to be replaced. Conversation, trust and time are those of the epoch.
///
/// The history that was summarised says what goes here: [`History::compaction`] is `expected`, and [`History::may_cover`]
/// says how much of it can be covered.
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    /// The epoch to open with it.
    pub epoch: Proposed,
    /// The last message that the summary stands for. What came behind it stays in the history, behind the summary.
    pub covered_to: u64,
    /// The summary.
    pub summary: Summary,
    /// How often the conversation was compacted when the summary was made. If somebody was faster, it is refused.
    pub expected: u64,
    /// The turn that holds the conversation meanwhile. If somebody else has taken it over, it is refused.
    pub hold: Option<Hold>,
}

/// What stands for the messages that leave the history. It becomes a message of the user's role at the epoch's trust, for
/// it is data; and it comes from outside if any of what it stands for did.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Its id as a message.
    pub id: MessageId,
    /// Its words.
    pub content: Vec<ContentBlock>,
    /// The turn it was made in.
    pub turn: Option<TurnId>,
    /// What it took to write it.
    pub usage: Option<Usage>,
}

/// A history that has been replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct Compacted {
    /// How often the conversation has been compacted now.
    pub number: u64,
    /// The summary.
    pub summary: Message,
    /// The epoch that was opened with it.
    pub epoch: StoredEpoch,
}

impl Store {
    /// Replaces a history by its summary and opens an epoch, in one transaction. What is covered can still be read, by
    /// [`Store::all_messages`]. The same compaction again gives what it gave first.
    ///
    /// # Errors
    /// If somebody else has compacted or taken the turn over in between, if that much can't be covered, or it can't be
    /// written. Nothing has changed then.
    pub async fn compact(&self, compaction: Compaction) -> Result<Compacted, StoreError> {
        self.run(Compact(compaction)).await
    }
}

struct Compact(Compaction);

impl Operation for Compact {
    type Output = Compacted;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Compacted, StoreError> {
        let Compaction { epoch, covered_to, expected, hold, .. } = &self.0;
        let conversation = &epoch.conversation;
        conversations::lock(sql, conversation).await?;
        conversations::must_exist(sql, conversation).await?;
        if let Some(hold) = hold {
            check_hold(sql, hold).await?;
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
        let compacting = Circumstances { compacting: true, ..epoch.circumstances };
        let opened = epochs::open_or_reuse(sql, epoch, compacting).await?.into_epoch();
        let number = expected + 1;
        sql.execute(
            "INSERT INTO compactions (conversation_id, number, covered_to, summary_seq, epoch, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            values![conversation, number, *covered_to, summary.seq, opened.info.number, epoch.at],
        )
        .await?;
        Ok(Compacted { number, summary, epoch: opened })
    }
}

const EPOCH_OF: &str = "SELECT epoch FROM compactions WHERE conversation_id = ?1 AND number = ?2";

/// For the test that nothing grows with the number of conversations.
#[cfg(test)]
pub(crate) const STATEMENTS: &[&str] = &[EPOCH_OF];

impl Compact {
    /// What this very compaction gave, if it was made and only the answer was lost.
    async fn done_before<S: Sql>(
        &self,
        sql: &mut S,
        history: &History,
    ) -> Result<Option<Compacted>, StoreError> {
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
        Ok(Some(Compacted { number, summary: stored.clone(), epoch }))
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
