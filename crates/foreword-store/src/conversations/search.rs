//! Conversations that hold what somebody looks for, in the order of all lists of conversations. What is called like it is found
//! by looking at conversations; what was said in them by looking at messages, which takes as long as there are many.

use foreword_core::id::ConversationId;
use foreword_core::message::ContentBlock;
use foreword_core::timestamp::Timestamp;

use super::{Conversation, ConversationPage, conversation};
use crate::engine::{Sql, values};
use crate::error::StoreError;
use crate::needle::Needle;

/// Where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookIn {
    /// What a conversation is called: its title, id, user, channel and agent.
    Names,
    /// That, and what people and the agent have said.
    WordsToo,
}

/// What is looked for, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Search {
    pub(super) needle: Needle,
    pub(super) within: LookIn,
}

/// What may hold the words; whether it does is for [`Search::finds`] to say.
const CANDIDATES: &str = "SELECT c.id, c.agent, c.user_id, c.channel, c.situation, c.title, c.created_at,
         c.last_activity_at, c.one_of_several
     FROM conversations AS c
     WHERE (c.last_activity_at, c.id) < (?2, ?3)
     AND (CAST(?4 AS TEXT) IS NULL OR c.user_id = ?4)
     AND (CAST(?5 AS TEXT) IS NULL OR c.agent = ?5)
     AND (LOWER(COALESCE(c.title, '')) LIKE ?6 ESCAPE '!' OR LOWER(c.id) LIKE ?6 ESCAPE '!'
         OR LOWER(COALESCE(c.user_id, '')) LIKE ?6 ESCAPE '!' OR LOWER(COALESCE(c.channel, '')) LIKE ?6 ESCAPE '!'
         OR LOWER(c.agent) LIKE ?6 ESCAPE '!'
         OR (CAST(?7 AS TEXT) IS NOT NULL AND EXISTS (SELECT 1 FROM messages AS m WHERE m.conversation_id = c.id
             AND m.role IN ('user', 'assistant') AND m.kind = 'message' AND LOWER(m.content) LIKE ?7 ESCAPE '!')))
     ORDER BY c.last_activity_at DESC, c.id DESC LIMIT ?1";
const SAID: &str = "SELECT content FROM messages WHERE conversation_id = ?1
     AND role IN ('user', 'assistant') AND kind = 'message' AND LOWER(content) LIKE ?2 ESCAPE '!' ORDER BY seq DESC";

impl Search {
    /// A page of what is found.
    pub(super) async fn page<S: Sql>(
        &self,
        sql: &mut S,
        page: &ConversationPage,
    ) -> Result<Vec<Conversation>, StoreError> {
        let limit = page.limit as usize;
        let said = (self.within == LookIn::WordsToo).then(|| self.needle.pattern_in_json());
        let mut behind: (String, String) = match &page.behind {
            Some((at, id)) => (at.to_string(), id.to_string()),
            None => (Timestamp::from_micros(i64::MAX).to_string(), String::new()),
        };
        let mut found = Vec::new();
        loop {
            let values = values![
                page.limit,
                &behind.0,
                &behind.1,
                page.user.as_deref(),
                page.agent.as_deref(),
                self.needle.pattern(),
                said.as_deref(),
            ];
            let rows = sql.query(CANDIDATES, values).await?;
            let candidates = rows.iter().map(conversation).collect::<Result<Vec<_>, _>>()?;
            let more = !candidates.is_empty() && candidates.len() >= limit;
            for candidate in candidates {
                behind = (candidate.last_activity_at.to_string(), candidate.id.to_string());
                if self.names(&candidate) || self.said_in(sql, &candidate.id).await? {
                    found.push(candidate);
                }
                if found.len() >= limit {
                    return Ok(found);
                }
            }
            if !more {
                return Ok(found);
            }
        }
    }

    fn names(&self, one: &Conversation) -> bool {
        let names = [Some(one.id.as_str()), Some(&one.agent), one.title.as_deref(), one.user.as_deref()];
        names.into_iter().chain([one.channel.as_deref()]).flatten().any(|name| self.needle.is_in(name))
    }

    async fn said_in<S: Sql>(&self, sql: &mut S, id: &ConversationId) -> Result<bool, StoreError> {
        if self.within == LookIn::Names {
            return Ok(false);
        }
        for row in sql.query(SAID, values![id, self.needle.pattern_in_json()]).await? {
            // What is damaged is for `foreword store check` to tell of; the rest can still be found.
            let blocks: Vec<ContentBlock> = row.json(0).unwrap_or_default();
            let is_in = |block: &ContentBlock| match block {
                ContentBlock::Text { text } => self.needle.is_in(text),
                ContentBlock::ToolCall { .. } | ContentBlock::ToolResult { .. } | ContentBlock::Other(_) => {
                    false
                }
            };
            if blocks.iter().any(is_in) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
