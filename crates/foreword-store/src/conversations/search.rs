//! Conversations that hold what somebody looks for, in the order of all lists of conversations. What they are called is compared
//! here; what was said in them is looked up among their messages, which takes as long as there are many: so a search looks at so
//! many conversations and no more, and says how far it came.

use foreword_core::id::ConversationId;
use foreword_core::message::ContentBlock;
use foreword_core::timestamp::Timestamp;

use super::{Conversation, ConversationPage, conversation};
use crate::engine::{Access, Operation, Sql, values};
use crate::error::StoreError;
use crate::needle::Needle;
use crate::store::Store;

/// How many conversations a search looks at, unless it is told otherwise.
const LOOKED_AT: u32 = 2_000;
/// How many of them at once, so that others have their turn in between.
const AT_ONCE: u32 = 100;
/// How many messages are read at once.
const MESSAGES_AT_ONCE: u32 = 100;
/// How many of a conversation's messages that may hold the words are read, the newest first.
const MESSAGES_READ: u32 = 5_000;

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
pub struct ConversationSearch {
    page: ConversationPage,
    needle: Needle,
    within: LookIn,
    most: u32,
}

impl ConversationSearch {
    pub(super) fn new(page: ConversationPage, words: &str, within: LookIn) -> Self {
        Self { page, needle: Needle::new(words), within, most: LOOKED_AT }
    }

    /// Looks at so many conversations and no more.
    #[must_use]
    pub fn looking_at(self, most: u32) -> Self {
        Self { most, ..self }
    }

    /// The search that goes on where one that gave `found` has stopped, or `None` if it has seen all.
    #[must_use]
    pub fn after(self, found: &FoundConversations) -> Option<Self> {
        let (at, id) = found.looked_up_to.clone()?;
        Some(Self { page: self.page.behind(at, id), ..self })
    }
}

/// What a search has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundConversations {
    /// The conversations, at most as many as the page has room for; perhaps fewer, or none, though there are more.
    pub conversations: Vec<Conversation>,
    /// The last activity and the id of the last one that was looked at; nothing, if that was the last there is.
    pub looked_up_to: Option<(Timestamp, ConversationId)>,
}

impl Store {
    /// Conversations that hold some words, the newest first. Only one search at a time looks in what was said.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn search_conversations(
        &self,
        search: ConversationSearch,
    ) -> Result<FoundConversations, StoreError> {
        // No text that is stored holds one, and the engines are not asked in a way that they would say so.
        if search.needle.has_zero_byte() {
            return Err(StoreError::ZeroByte);
        }
        let _alone = match search.within {
            LookIn::Names => None,
            LookIn::WordsToo => self.searching().acquire().await.ok(),
        };
        let limit = search.page.limit as usize;
        let (mut left, mut behind) = (search.most, search.page.behind.clone());
        let mut conversations = Vec::new();
        while left > 0 && conversations.len() < limit {
            let at_once = left.min(AT_ONCE);
            left -= at_once;
            let wanted = limit - conversations.len();
            let looked = self.run(Look { search: search.clone(), behind, at_once, wanted }).await?;
            conversations.extend(looked.found);
            behind = looked.up_to;
            if looked.is_all {
                return Ok(FoundConversations { conversations, looked_up_to: None });
            }
        }
        Ok(FoundConversations { conversations, looked_up_to: behind })
    }
}

/// Conversations in order, and whether something may have been said in them that holds the words: whether it does is for
/// [`Look::said_in`] to tell.
macro_rules! window {
    ($lead:literal) => {
        concat!(
            "SELECT c.id, c.agent, c.user_id, c.channel, c.situation, c.title, c.created_at, c.last_activity_at,
                 c.one_of_several,
                 CAST(CASE WHEN CAST(?6 AS TEXT) IS NOT NULL AND EXISTS (SELECT 1 FROM messages AS m
                     WHERE m.conversation_id = c.id AND m.role IN ('user', 'assistant') AND m.kind = 'message'
                     AND LOWER(m.content) LIKE ?6 ESCAPE '!') THEN 1 ELSE 0 END AS BIGINT)
             FROM conversations AS c WHERE ",
            $lead,
            " AND (c.last_activity_at, c.id) < (?2, ?3) AND (CAST(?5 AS TEXT) IS NULL OR c.agent = ?5)
             ORDER BY c.last_activity_at DESC, c.id DESC LIMIT ?1"
        )
    };
}

pub(super) const OF_ALL: &str = window!("CAST(?4 AS TEXT) IS NULL");
pub(super) const OF_USER: &str = window!("c.user_id = ?4");
pub(super) const SAID: &str = "SELECT content, seq FROM messages WHERE conversation_id = ?1 AND seq < ?3
     AND role IN ('user', 'assistant') AND kind = 'message' AND LOWER(content) LIKE ?2 ESCAPE '!'
     ORDER BY seq DESC LIMIT ?4";

/// Looks at the next few conversations.
struct Look {
    search: ConversationSearch,
    behind: Option<(Timestamp, ConversationId)>,
    at_once: u32,
    /// How many there is room for.
    wanted: usize,
}

struct Looked {
    found: Vec<Conversation>,
    /// The last one that was looked at.
    up_to: Option<(Timestamp, ConversationId)>,
    /// Whether there is none behind it.
    is_all: bool,
}

impl Operation for Look {
    type Output = Looked;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Looked, StoreError> {
        let ConversationSearch { page, needle, within, .. } = &self.search;
        let (at, id) = match &self.behind {
            Some((at, id)) => (at.to_string(), id.to_string()),
            None => (Timestamp::from_micros(i64::MAX).to_string(), String::new()),
        };
        let said = (*within == LookIn::WordsToo).then(|| needle.pattern_in_json());
        let (user, agent) = (page.user.as_deref(), page.agent.as_deref());
        let statement = if user.is_some() { OF_USER } else { OF_ALL };
        let rows = sql.query(statement, values![self.at_once, at, id, user, agent, said.as_deref()]).await?;
        let (mut found, mut up_to) = (Vec::new(), self.behind.clone());
        for row in &rows {
            if found.len() >= self.wanted {
                return Ok(Looked { found, up_to, is_all: false });
            }
            let one = conversation(row)?;
            up_to = Some((one.last_activity_at, one.id.clone()));
            let may_be_said = row.get::<u64>(9)? > 0;
            if is_called(&one, needle) || (may_be_said && self.said_in(sql, &one.id).await?) {
                found.push(one);
            }
        }
        Ok(Looked { found, up_to, is_all: rows.len() < self.at_once as usize })
    }
}

impl Look {
    async fn said_in<S: Sql>(&self, sql: &mut S, id: &ConversationId) -> Result<bool, StoreError> {
        let needle = &self.search.needle;
        let mut before = i64::MAX;
        for _ in 0..MESSAGES_READ / MESSAGES_AT_ONCE {
            let values = values![id, needle.pattern_in_json(), before, MESSAGES_AT_ONCE];
            let rows = sql.query(SAID, values).await?;
            for row in &rows {
                before = row.get(1)?;
                // What is damaged is for `foreword store check` to tell of; the rest can still be found.
                let blocks: Vec<ContentBlock> = row.json(0).unwrap_or_default();
                if blocks.iter().any(|block| is_said(block, needle)) {
                    return Ok(true);
                }
            }
            if rows.len() < MESSAGES_AT_ONCE as usize {
                break;
            }
        }
        Ok(false)
    }
}

fn is_called(one: &Conversation, needle: &Needle) -> bool {
    let names = [Some(one.id.as_str()), Some(&one.agent), one.title.as_deref(), one.user.as_deref()];
    names.into_iter().chain([one.channel.as_deref()]).flatten().any(|name| needle.is_in(name))
}

fn is_said(block: &ContentBlock, needle: &Needle) -> bool {
    match block {
        ContentBlock::Text { text } => needle.is_in(text),
        ContentBlock::ToolCall { .. } | ContentBlock::ToolResult { .. } | ContentBlock::Other(_) => false,
    }
}
