//! Finds turn results that have no delivery yet.

use foreword_core::id::{ConversationId, MessageId, TurnId};
use foreword_core::message::ContentBlock;
use foreword_core::timestamp::Timestamp;

use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::store::Store;

/// A turn's result for messages that came over a channel.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelAnswer {
    pub turn: TurnId,
    pub conversation: ConversationId,
    /// The channel the messages came from.
    pub channel: String,
    /// The last of those messages.
    pub in_reply_to: Option<MessageId>,
    /// The turn's final text; empty if it has none.
    pub text: String,
    /// Whether the turn succeeded. A failed or interrupted turn has no answer.
    pub is_answered: bool,
    /// When the turn ended.
    pub at: Timestamp,
}

impl Store {
    /// Turns that have no delivery: those that succeeded since `since` and those that failed since `lately`. Returns
    /// at most `limit` for each channel family in `families`, the oldest first.
    pub async fn unsent_answers(
        &self,
        families: Vec<String>,
        since: Timestamp,
        lately: Timestamp,
        limit: u64,
    ) -> Result<Vec<ChannelAnswer>, StoreError> {
        self.run(Unsent { families, since, lately, limit }).await
    }
}

/// Turns in conversations of a channel family, if all their messages came over that channel and no delivery exists.
macro_rules! unsent {
    ($ended:literal) => {
        concat!(
            "SELECT t.id, c.id, c.channel, t.ended_at, t.state
             FROM turns t JOIN conversations c ON c.id = t.conversation_id
             WHERE ",
            $ended,
            " AND substr(c.channel, 1, length(CAST(?1 AS TEXT))) = CAST(?1 AS TEXT)
             AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.conversation_id = c.id AND d.turn_id = t.id)
             AND EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = c.id AND m.turn_id = t.id
                 AND m.role = 'user' AND m.kind = 'message' AND m.idempotency_scope = 'channel ' || c.channel)
             AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = c.id AND m.turn_id = t.id
                 AND m.role = 'user' AND m.kind = 'message'
                 AND (m.idempotency_scope IS NULL OR m.idempotency_scope <> 'channel ' || c.channel))
             ORDER BY t.ended_at, t.fence, t.id LIMIT ?2"
        )
    };
}

struct Unsent {
    families: Vec<String>,
    since: Timestamp,
    lately: Timestamp,
    limit: u64,
}

impl Operation for Unsent {
    type Output = Vec<ChannelAnswer>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<ChannelAnswer>, StoreError> {
        let done = unsent!("t.state = 'done' AND t.ended_at >= ?3");
        // Compares the start time, because it is indexed.
        let failed =
            unsent!("t.state IN ('failed', 'interrupted') AND t.started_at >= ?3 AND t.ended_at >= ?4");
        let mut answers = Vec::new();
        for family in &self.families {
            let beginning = format!("{family}:");
            let mut rows = sql.query(done, values![&beginning, self.limit, self.since]).await?;
            rows.extend(sql.query(failed, values![&beginning, self.limit, self.since, self.lately]).await?);
            let mut of_family = Vec::new();
            for row in &rows {
                of_family.push(answer(sql, row).await?);
            }
            of_family.sort_by_key(|answer| answer.at);
            answers.append(&mut of_family);
        }
        Ok(answers)
    }
}

async fn answer(sql: &mut Transaction<'_>, row: &Row) -> Result<ChannelAnswer, StoreError> {
    let (turn, conversation): (TurnId, ConversationId) = (row.parse(0)?, row.parse(1)?);
    let select = "SELECT role, id, content FROM messages WHERE conversation_id = ?1 AND turn_id = ?2
        AND kind = 'message' AND role IN ('user', 'assistant') ORDER BY seq DESC";
    let (mut in_reply_to, mut text) = (None, String::new());
    for message in sql.query(select, values![&conversation, &turn]).await? {
        if message.text(0)? == "user" {
            in_reply_to = in_reply_to.or(Some(message.parse(1)?));
        } else if text.is_empty() {
            text = ContentBlock::joined_text(&message.json::<Vec<_>>(2)?).trim().to_owned();
        }
    }
    let (channel, at, is_answered) = (row.get(2)?, row.parse(3)?, row.text(4)? == "done");
    Ok(ChannelAnswer { turn, conversation, channel, in_reply_to, text, is_answered, at })
}
