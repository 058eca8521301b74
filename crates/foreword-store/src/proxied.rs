//! Conversations of external clients with models, through the drop-in endpoints. Stores hashes of how their last
//! request began and of its shape, and no text.

use foreword_core::id::ConversationId;
use foreword_core::timestamp::Timestamp;

use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::requests::{LastRequest, remember};
use crate::store::Store;

/// The situation of a proxied conversation, which has no agent.
pub const PROXY_SITUATION: &str = "proxy";

/// The id prefix of proxied conversations. No other conversation has it.
pub const ID_PREFIX: &str = "proxy:";

/// Whether a conversation is proxied.
///
/// ```
/// use foreword_core::id::ConversationId;
/// use foreword_store::proxied::is_proxied;
/// assert!(is_proxied(&ConversationId::new("proxy:tok-1:my-task").unwrap()));
/// assert!(!is_proxied(&ConversationId::new("signal:alice").unwrap()));
/// ```
#[must_use]
pub fn is_proxied(conversation: &ConversationId) -> bool {
    conversation.as_str().starts_with(ID_PREFIX)
}

/// How many conversations are deleted per transaction.
const PRUNE_BATCH: u32 = 1_000;

/// A proxied conversation, as of its last request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxiedConversation {
    pub conversation: ConversationId,
    /// Who pays: a token's id, or a hash of the client's own key.
    pub payer: String,
    /// The API dialect of the client.
    pub dialect: String,
    /// When the last request was sent.
    pub last_at: Timestamp,
    /// The start of the request: a chain of hashes as `foreword_core::cache::Link` stores it. An empty one keeps the
    /// stored chain.
    pub chain: String,
}

/// A proxied conversation, with the fields for creating it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProxiedConversation {
    pub proxied: ProxiedConversation,
    /// The agent whose prompt was used.
    pub agent: String,
    /// The token's user.
    pub user: Option<String>,
    pub channel: String,
}

impl Store {
    /// Stores proxied conversations and their last requests in one transaction. Newer stored data wins.
    ///
    /// Creates new conversations. Leaves conversations of agents alone.
    pub async fn save_proxied(
        &self,
        conversations: Vec<NewProxiedConversation>,
        requests: Vec<LastRequest>,
    ) -> Result<(), StoreError> {
        self.run(Save { conversations, requests }).await
    }

    /// The most recently active ones, the newest first.
    pub async fn recent_proxied(&self, limit: u32) -> Result<Vec<ProxiedConversation>, StoreError> {
        self.run(Read::Recent { limit }).await
    }

    /// The most recently active ones of `payer`, the newest first, from all nodes.
    pub async fn proxied_of(&self, payer: &str, limit: u32) -> Result<Vec<ProxiedConversation>, StoreError> {
        self.run(Read::Of { payer: payer.to_owned(), limit }).await
    }

    /// A proxied conversation, if it belongs to `payer`.
    pub async fn proxied_line(
        &self,
        payer: &str,
        conversation: &ConversationId,
    ) -> Result<Option<ProxiedConversation>, StoreError> {
        let read = Read::One { payer: payer.to_owned(), conversation: conversation.clone() };
        Ok(self.run(read).await?.pop())
    }

    /// Deletes a batch of conversations last active before `before`. Returns how many. Their costs stay in the event
    /// log.
    pub async fn prune_proxied(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.run(Prune::Before(before)).await
    }

    /// Deletes a batch of `payer`'s conversations except the newest `most`. Returns how many.
    pub async fn trim_proxied(&self, payer: &str, most: u32) -> Result<u64, StoreError> {
        self.run(Prune::AllBut { payer: payer.to_owned(), most }).await
    }
}

struct Save {
    conversations: Vec<NewProxiedConversation>,
    requests: Vec<LastRequest>,
}

impl Operation for Save {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        // Two nodes that write the same rows in different orders would deadlock.
        sql.lock("proxied").await?;
        for new in &self.conversations {
            insert(sql, new).await?;
        }
        for request in &self.requests {
            remember(sql, request).await?;
        }
        Ok(())
    }
}

async fn insert(sql: &mut Transaction<'_>, new: &NewProxiedConversation) -> Result<(), StoreError> {
    let NewProxiedConversation { proxied, agent, user, channel } = new;
    let insert =
        "INSERT INTO conversations (id, agent, user_id, channel, situation, created_at, last_activity_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
        ON CONFLICT (id) DO UPDATE SET last_activity_at = excluded.last_activity_at
        WHERE conversations.situation = excluded.situation
          AND conversations.last_activity_at < excluded.last_activity_at";
    let values =
        values![&proxied.conversation, agent, user.as_deref(), channel, PROXY_SITUATION, proxied.last_at];
    sql.execute(insert, values).await?;
    let insert = "INSERT INTO proxied (conversation_id, payer, dialect, last_at, chain)
        SELECT id, ?2, ?3, ?4, ?5 FROM conversations WHERE id = ?1 AND situation = ?6
        ON CONFLICT (conversation_id) DO UPDATE SET last_at = excluded.last_at,
            chain = CASE WHEN excluded.chain = '' THEN proxied.chain ELSE excluded.chain END
        WHERE proxied.last_at <= excluded.last_at AND proxied.payer = excluded.payer";
    let values = values![
        &proxied.conversation,
        &proxied.payer,
        &proxied.dialect,
        proxied.last_at,
        &proxied.chain,
        PROXY_SITUATION
    ];
    sql.execute(insert, values).await?;
    Ok(())
}

enum Read {
    Recent { limit: u32 },
    Of { payer: String, limit: u32 },
    One { payer: String, conversation: ConversationId },
}

/// The columns of [`proxied_conversation`].
macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT conversation_id, payer, dialect, last_at, chain FROM proxied ", $rest)
    };
}

impl Operation for Read {
    type Output = Vec<ProxiedConversation>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<ProxiedConversation>, StoreError> {
        let rows = match self {
            Self::Recent { limit } => {
                let select = select!("ORDER BY last_at DESC, conversation_id LIMIT ?1");
                sql.query(select, values![*limit]).await?
            }
            Self::Of { payer, limit } => {
                let select = select!("WHERE payer = ?1 ORDER BY last_at DESC, conversation_id LIMIT ?2");
                sql.query(select, values![payer, *limit]).await?
            }
            Self::One { payer, conversation } => {
                sql.query(select!("WHERE conversation_id = ?1 AND payer = ?2"), values![conversation, payer])
                    .await?
            }
        };
        rows.iter().map(proxied_conversation).collect()
    }
}

fn proxied_conversation(row: &Row) -> Result<ProxiedConversation, StoreError> {
    Ok(ProxiedConversation {
        conversation: row.parse(0)?,
        payer: row.get(1)?,
        dialect: row.get(2)?,
        last_at: row.parse(3)?,
        chain: row.get(4)?,
    })
}

enum Prune {
    Before(Timestamp),
    AllBut { payer: String, most: u32 },
}

impl Operation for Prune {
    type Output = u64;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<u64, StoreError> {
        sql.lock("proxied").await?;
        let old = match self {
            Self::Before(before) => {
                let select =
                    "SELECT conversation_id FROM proxied WHERE last_at < ?1 ORDER BY last_at LIMIT ?2";
                let mut old = sql.query(select, values![*before, PRUNE_BATCH]).await?;
                // Conversations whose first request failed have no row here. The id prefix distinguishes them from an
                // agent's conversation in a situation of the same name.
                let select = "SELECT id FROM conversations
                    WHERE situation = ?1 AND last_activity_at < ?2 AND substr(id, 1, 6) = ?3
                      AND NOT EXISTS (SELECT 1 FROM proxied WHERE conversation_id = conversations.id)
                    ORDER BY last_activity_at LIMIT ?4";
                let none =
                    sql.query(select, values![PROXY_SITUATION, *before, ID_PREFIX, PRUNE_BATCH]).await?;
                old.extend(none);
                old
            }
            Self::AllBut { payer, most } => {
                let select = "SELECT conversation_id FROM proxied WHERE payer = ?1
                    ORDER BY last_at DESC, conversation_id LIMIT ?2 OFFSET ?3";
                sql.query(select, values![payer, PRUNE_BATCH, *most]).await?
            }
        };
        for row in &old {
            let id: String = row.get(0)?;
            sql.execute("DELETE FROM last_requests WHERE thread = ?1", values![&*id]).await?;
            // The foreign key deletes its row here.
            sql.execute("DELETE FROM conversations WHERE id = ?1", values![&*id]).await?;
        }
        Ok(old.len() as u64)
    }
}
