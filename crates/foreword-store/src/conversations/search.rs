//! Full-text search in conversations, newest activity first. Messages are scanned, not indexed, so a search covers a
//! limited number of conversations per call and returns where it stopped.

use foreword_core::id::ConversationId;
use foreword_core::message::ContentBlock;
use foreword_core::timestamp::Timestamp;

use super::{Conversation, ConversationPage, conversation};
use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;
use crate::search_pattern::SearchPattern;
use crate::store::Store;

/// How many conversations a search scans by default.
const MAX_SCANNED_CONVERSATIONS: u32 = 2_000;
/// Conversations scanned per transaction, so that other operations can run in between.
const SCAN_BATCH: u32 = 100;
/// Messages read per query.
const MESSAGE_BATCH: u32 = 100;
/// How many candidate messages of a conversation are read, the newest first.
const MAX_SCANNED_MESSAGES: u32 = 5_000;

/// What to search in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchScope {
    /// A conversation's title, id, user, channel and agent.
    Names,
    /// Also the messages of people and the agent.
    NamesAndMessages,
}

/// A search for conversations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationSearch {
    page: ConversationPage,
    pattern: SearchPattern,
    within: SearchScope,
    scan_limit: u32,
}

impl ConversationSearch {
    pub(super) fn new(page: ConversationPage, words: &str, within: SearchScope) -> Self {
        Self { page, pattern: SearchPattern::new(words), within, scan_limit: MAX_SCANNED_CONVERSATIONS }
    }

    /// Scans at most this many conversations.
    #[must_use]
    pub fn scan_limit(self, scan_limit: u32) -> Self {
        Self { scan_limit, ..self }
    }

    /// The search that continues after `found`, or `None` if all were scanned.
    #[must_use]
    pub fn after(self, found: &FoundConversations) -> Option<Self> {
        let (at, id) = found.scanned_to.clone()?;
        Some(Self { page: self.page.behind(at, id), ..self })
    }
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundConversations {
    /// The matches, at most as many as the page's limit. There may be more matches even if this is empty.
    pub conversations: Vec<Conversation>,
    /// The last activity and id of the last conversation scanned; `None` if it was the last one.
    pub scanned_to: Option<(Timestamp, ConversationId)>,
}

impl Store {
    /// Conversations that match, newest activity first. Searches in messages run one at a time.
    pub async fn search_conversations(
        &self,
        search: ConversationSearch,
    ) -> Result<FoundConversations, StoreError> {
        // No stored text contains a zero byte, and Postgres rejects it in a parameter.
        if search.pattern.has_zero_byte() {
            return Err(StoreError::ZeroByte);
        }
        let _alone = match search.within {
            SearchScope::Names => None,
            SearchScope::NamesAndMessages => self.searching().acquire().await.ok(),
        };
        let limit = search.page.limit as usize;
        let (mut left, mut behind) = (search.scan_limit, search.page.behind.clone());
        let mut conversations = Vec::new();
        while left > 0 && conversations.len() < limit {
            let at_once = left.min(SCAN_BATCH);
            left -= at_once;
            let wanted = limit - conversations.len();
            let looked = self.run(Scan { search: search.clone(), behind, at_once, wanted }).await?;
            conversations.extend(looked.found);
            behind = looked.up_to;
            if looked.is_all {
                return Ok(FoundConversations { conversations, scanned_to: None });
            }
        }
        Ok(FoundConversations { conversations, scanned_to: behind })
    }
}

/// Conversations in order, with whether a message may match. [`Scan::said_in`] decides whether one does.
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

pub(crate) const OF_ALL: &str = window!("CAST(?4 AS TEXT) IS NULL");
pub(crate) const OF_USER: &str = window!("c.user_id = ?4");
pub(crate) const MATCHING_MESSAGES: &str =
    "SELECT content, seq FROM messages WHERE conversation_id = ?1 AND seq < ?3
     AND role IN ('user', 'assistant') AND kind = 'message' AND LOWER(content) LIKE ?2 ESCAPE '!'
     ORDER BY seq DESC LIMIT ?4";

/// Scans the next batch of conversations.
struct Scan {
    search: ConversationSearch,
    behind: Option<(Timestamp, ConversationId)>,
    at_once: u32,
    /// How many matches are still needed.
    wanted: usize,
}

struct Scanned {
    found: Vec<Conversation>,
    /// The last conversation scanned.
    up_to: Option<(Timestamp, ConversationId)>,
    /// Whether this was the last batch.
    is_all: bool,
}

impl Operation for Scan {
    type Output = Scanned;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Scanned, StoreError> {
        let ConversationSearch { page, pattern, within, .. } = &self.search;
        let (at, id) = match &self.behind {
            Some((at, id)) => (at.to_string(), id.to_string()),
            None => (Timestamp::from_micros(i64::MAX).to_string(), String::new()),
        };
        let said = (*within == SearchScope::NamesAndMessages).then(|| pattern.pattern_in_json());
        let (user, agent) = (page.user.as_deref(), page.agent.as_deref());
        let statement = if user.is_some() { OF_USER } else { OF_ALL };
        let rows = sql.query(statement, values![self.at_once, at, id, user, agent, said.as_deref()]).await?;
        let (mut found, mut up_to) = (Vec::new(), self.behind.clone());
        for row in &rows {
            if found.len() >= self.wanted {
                return Ok(Scanned { found, up_to, is_all: false });
            }
            let one = conversation(row)?;
            up_to = Some((one.last_activity_at, one.id.clone()));
            let may_be_said = row.get::<u64>(9)? > 0;
            if is_called(&one, pattern) || (may_be_said && self.said_in(sql, &one.id).await?) {
                found.push(one);
            }
        }
        Ok(Scanned { found, up_to, is_all: rows.len() < self.at_once as usize })
    }
}

impl Scan {
    async fn said_in(&self, sql: &mut Transaction<'_>, id: &ConversationId) -> Result<bool, StoreError> {
        let pattern = &self.search.pattern;
        let mut before = i64::MAX;
        for _ in 0..MAX_SCANNED_MESSAGES / MESSAGE_BATCH {
            let values = values![id, pattern.pattern_in_json(), before, MESSAGE_BATCH];
            let rows = sql.query(MATCHING_MESSAGES, values).await?;
            for row in &rows {
                before = row.get(1)?;
                // `foreword store check` reports damaged messages. Search skips them.
                let blocks: Vec<ContentBlock> = row.json(0).unwrap_or_default();
                if blocks.iter().filter_map(ContentBlock::as_text).any(|text| pattern.is_in(text)) {
                    return Ok(true);
                }
            }
            if rows.len() < MESSAGE_BATCH as usize {
                break;
            }
        }
        Ok(false)
    }
}

fn is_called(one: &Conversation, pattern: &SearchPattern) -> bool {
    let names = [Some(one.id.as_str()), Some(&one.agent), one.title.as_deref(), one.user.as_deref()];
    names.into_iter().chain([one.channel.as_deref()]).flatten().any(|name| pattern.is_in(name))
}
