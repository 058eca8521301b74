//! Conversations that others have with their models, through the drop-in endpoints. What is kept of them is that they are
//! there, how their last request began, and its shape, as hashes; nothing that was said.

use foreword_core::id::ConversationId;
use foreword_core::timestamp::Timestamp;

use crate::engine::{Access, Operation, Row, Sql, values};
use crate::error::StoreError;
use crate::requests::{LastRequest, remember};
use crate::store::Store;

/// The situation of a conversation in which no agent speaks: somebody else's, that only passed through.
pub const PASSED_THROUGH: &str = "proxy";

/// What the ids of such conversations begin with: no agent's do.
pub const ID_PREFIX: &str = "proxy:";

/// Whether a conversation is one in which no agent speaks.
///
/// ```
/// use foreword_core::id::ConversationId;
/// use foreword_store::proxied::is_passed_through;
/// assert!(is_passed_through(&ConversationId::new("proxy:tok-1:my-task").unwrap()));
/// assert!(!is_passed_through(&ConversationId::new("signal:alice").unwrap()));
/// ```
#[must_use]
pub fn is_passed_through(conversation: &ConversationId) -> bool {
    conversation.as_str().starts_with(ID_PREFIX)
}

/// How many conversations are forgotten in one transaction.
const SLICE: u32 = 1_000;

/// A conversation that passed through, as of its last request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxiedLine {
    /// The conversation.
    pub conversation: ConversationId,
    /// Whoever pays: a token's id, or what a client's own key is known by.
    pub payer: String,
    /// What the client speaks.
    pub dialect: String,
    /// When the request was sent.
    pub last_at: Timestamp,
    /// How it began: a chain as `foreword_core::cache::Link` stores it. An empty one says nothing: what is kept stays.
    pub chain: String,
}

/// The same, with what its conversation is made with if it is new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLine {
    /// The line.
    pub line: ProxiedLine,
    /// The agent whose name stands on it.
    pub agent: String,
    /// The user of the token.
    pub user: Option<String>,
    /// Where it takes place.
    pub channel: String,
}

impl Store {
    /// Keeps lines and the requests they end with, in one transaction. What is newer stays.
    ///
    /// A conversation that is new is made; one of the agent's own, by whatever name, is left alone.
    ///
    /// # Errors
    /// If they can't be written.
    pub async fn keep_proxied(
        &self,
        lines: Vec<NewLine>,
        requests: Vec<LastRequest>,
    ) -> Result<(), StoreError> {
        self.run(Keep { lines, requests }).await
    }

    /// The lines that were active last, the newest first.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn recent_proxied(&self, limit: u32) -> Result<Vec<ProxiedLine>, StoreError> {
        self.run(Read::Recent { limit }).await
    }

    /// Those of `payer` that were active last, the newest first: another node may have seen them.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn proxied_of(&self, payer: &str, limit: u32) -> Result<Vec<ProxiedLine>, StoreError> {
        self.run(Read::Of { payer: payer.to_owned(), limit }).await
    }

    /// The line of a conversation, if it is one of `payer`'s.
    ///
    /// # Errors
    /// If it can't be read.
    pub async fn proxied_line(
        &self,
        payer: &str,
        conversation: &ConversationId,
    ) -> Result<Option<ProxiedLine>, StoreError> {
        let read = Read::One { payer: payer.to_owned(), conversation: conversation.clone() };
        Ok(self.run(read).await?.pop())
    }

    /// Forgets the conversations that were last active before then; a slice of them. Says how many. What they cost stays
    /// in the log.
    ///
    /// # Errors
    /// If they can't be removed.
    pub async fn forget_proxied(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.run(Forget::Before(before)).await
    }

    /// Forgets of `payer` all but the newest `most` conversations; a slice of them. Says how many.
    ///
    /// # Errors
    /// If they can't be removed.
    pub async fn trim_proxied(&self, payer: &str, most: u32) -> Result<u64, StoreError> {
        self.run(Forget::AllBut { payer: payer.to_owned(), most }).await
    }
}

struct Keep {
    lines: Vec<NewLine>,
    requests: Vec<LastRequest>,
}

impl Operation for Keep {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<(), StoreError> {
        // Two nodes that write the same lines in different orders would wait for each other.
        sql.lock("proxied").await?;
        for new in &self.lines {
            keep(sql, new).await?;
        }
        for request in &self.requests {
            remember(sql, request).await?;
        }
        Ok(())
    }
}

async fn keep<S: Sql>(sql: &mut S, new: &NewLine) -> Result<(), StoreError> {
    let NewLine { line, agent, user, channel } = new;
    let insert =
        "INSERT INTO conversations (id, agent, user_id, channel, situation, created_at, last_activity_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
        ON CONFLICT (id) DO UPDATE SET last_activity_at = excluded.last_activity_at
        WHERE conversations.situation = excluded.situation
          AND conversations.last_activity_at < excluded.last_activity_at";
    let values = values![&line.conversation, agent, user.as_deref(), channel, PASSED_THROUGH, line.last_at];
    sql.execute(insert, values).await?;
    let insert = "INSERT INTO proxied (conversation_id, payer, dialect, last_at, chain)
        SELECT id, ?2, ?3, ?4, ?5 FROM conversations WHERE id = ?1 AND situation = ?6
        ON CONFLICT (conversation_id) DO UPDATE SET last_at = excluded.last_at,
            chain = CASE WHEN excluded.chain = '' THEN proxied.chain ELSE excluded.chain END
        WHERE proxied.last_at <= excluded.last_at AND proxied.payer = excluded.payer";
    let values =
        values![&line.conversation, &line.payer, &line.dialect, line.last_at, &line.chain, PASSED_THROUGH];
    sql.execute(insert, values).await?;
    Ok(())
}

enum Read {
    Recent { limit: u32 },
    Of { payer: String, limit: u32 },
    One { payer: String, conversation: ConversationId },
}

/// The columns of [`line`].
macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT conversation_id, payer, dialect, last_at, chain FROM proxied ", $rest)
    };
}

impl Operation for Read {
    type Output = Vec<ProxiedLine>;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Vec<ProxiedLine>, StoreError> {
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
        rows.iter().map(line).collect()
    }
}

fn line(row: &Row) -> Result<ProxiedLine, StoreError> {
    Ok(ProxiedLine {
        conversation: row.parse(0)?,
        payer: row.get(1)?,
        dialect: row.get(2)?,
        last_at: row.parse(3)?,
        chain: row.get(4)?,
    })
}

enum Forget {
    Before(Timestamp),
    AllBut { payer: String, most: u32 },
}

impl Operation for Forget {
    type Output = u64;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<u64, StoreError> {
        sql.lock("proxied").await?;
        let old = match self {
            Self::Before(before) => {
                let select =
                    "SELECT conversation_id FROM proxied WHERE last_at < ?1 ORDER BY last_at LIMIT ?2";
                let mut old = sql.query(select, values![*before, SLICE]).await?;
                // Those that were begun and came to nothing have no line. The id tells them from an agent's own in a
                // situation that somebody has called the same.
                let select = "SELECT id FROM conversations
                    WHERE situation = ?1 AND last_activity_at < ?2 AND substr(id, 1, 6) = ?3
                      AND NOT EXISTS (SELECT 1 FROM proxied WHERE conversation_id = conversations.id)
                    ORDER BY last_activity_at LIMIT ?4";
                let none = sql.query(select, values![PASSED_THROUGH, *before, ID_PREFIX, SLICE]).await?;
                old.extend(none);
                old
            }
            Self::AllBut { payer, most } => {
                let select = "SELECT conversation_id FROM proxied WHERE payer = ?1
                    ORDER BY last_at DESC, conversation_id LIMIT ?2 OFFSET ?3";
                sql.query(select, values![payer, SLICE, *most]).await?
            }
        };
        for row in &old {
            let id: String = row.get(0)?;
            sql.execute("DELETE FROM last_requests WHERE thread = ?1", values![&*id]).await?;
            // Its line goes with it.
            sql.execute("DELETE FROM conversations WHERE id = ?1", values![&*id]).await?;
        }
        Ok(old.len() as u64)
    }
}
