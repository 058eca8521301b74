//! Messages of conversations: ordered, each with the trust it was written at, durable before the client gets a
//! response.

mod accept;
mod read;

use foreword_core::history::History;
use foreword_core::id::ConversationId;
use foreword_core::message::{Message, NewMessage, Usage};
use foreword_prompt::trust::Trust;

use crate::changes::StoreChange;
use crate::conversation_lock::not_found;
use crate::engine::{Row, Transaction, Value, values};
use crate::error::StoreError;
use crate::store::Store;

pub(crate) use accept::Accept;
pub use accept::{AcceptOutcome, IdempotencyKey};
pub use read::MessagePage;
#[cfg(test)]
pub(crate) use read::WITH_PENDING;
pub(crate) use read::live;

/// The statements of a turn, for the test that no query scans all conversations.
#[cfg(test)]
pub(crate) const STATEMENTS: &[&str] = &[
    NEXT_SEQ,
    accept::BY_KEY,
    accept::BY_ID,
    read::LAST_COMPACTION,
    read::ONE,
    read::BEHIND,
    read::OLDEST_FIRST,
    read::NEWEST_FIRST,
    read::PENDING,
    read::TRUSTS,
];

impl Store {
    /// Accepts a message. It is durable when this returns. A message accepted before, by its id or by `key`, is not
    /// added again.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use foreword_core::id::{ConversationId, MessageId};
    /// # use foreword_core::message::{ContentBlock, Kind, NewMessage, Provenance, Role};
    /// # use foreword_prompt::trust::Trust;
    /// # use foreword_store::{conversations::NewConversation, location::Location, store::Store};
    /// use foreword_store::messages::{AcceptOutcome, IdempotencyKey};
    /// # let folder = tempfile::tempdir()?;
    /// # let now: foreword_core::timestamp::Timestamp = "2026-11-16T08:00:00Z".parse()?;
    /// # let store = Store::open(&Location::file(folder.path().join("foreword.db")), now).await?;
    /// # let id = ConversationId::new("signal:group-7")?;
    /// # store.create_conversation(NewConversation::new(id.clone(), "Assistant", "group", now)).await?;
    /// # let message = |id: &str, conversation: ConversationId| NewMessage {
    /// #     id: MessageId::new(id).unwrap(), conversation, role: Role::User, kind: Kind::Message,
    /// #     content: vec![ContentBlock::text("hello")], trust: Trust::Familiar, provenance: Provenance::User,
    /// #     author: Some("bob".to_owned()), turn: None, usage: None, at: now };
    ///
    /// // A bridge that is not sure whether a message has arrived sends it again, under the same key.
    /// let key = IdempotencyKey { scope: "signal".to_owned(), key: "1731744000".to_owned() };
    /// let first = store.accept(message("m-1", id.clone()), Some(key.clone())).await?;
    /// let again = store.accept(message("m-2", id.clone()), Some(key)).await?;
    /// assert_eq!(again, AcceptOutcome::Before(first.message().clone()));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If there is no such conversation, the id or the key was used for something else, or it can't be written.
    pub async fn accept(
        &self,
        new: NewMessage,
        key: Option<IdempotencyKey>,
    ) -> Result<AcceptOutcome, StoreError> {
        self.run(accept::Accept { new, key }).await
    }

    /// The history that a model reads: the newest summary and the messages after it. Empty if there is no such
    /// conversation.
    ///
    /// Includes messages of every trust. A turn reads [`Store::history_at`].
    pub async fn history(&self, conversation: &ConversationId) -> Result<History, StoreError> {
        self.run(read::Live(conversation.clone())).await
    }

    /// The history that a turn at `trust` may read: a placeholder replaces messages of higher trust.
    pub async fn history_at(
        &self,
        conversation: &ConversationId,
        trust: Trust,
    ) -> Result<History, StoreError> {
        Ok(self.history(conversation).await?.at_trust(trust))
    }

    /// All messages of a conversation, including those covered by a summary, page by page.
    pub async fn all_messages(
        &self,
        conversation: &ConversationId,
        page: MessagePage,
    ) -> Result<Vec<Message>, StoreError> {
        self.run(read::All(conversation.clone(), page)).await
    }

    /// The lowest trust of the people who have written in a conversation, since they read the answers. `None` if
    /// there are none yet.
    pub async fn audience(&self, conversation: &ConversationId) -> Result<Option<Trust>, StoreError> {
        self.run(read::Audience(conversation.clone())).await
    }

    /// Whether `author` has written in a conversation.
    pub async fn has_written(&self, conversation: &ConversationId, author: &str) -> Result<bool, StoreError> {
        self.run(read::HasWritten(conversation.clone(), author.to_owned())).await
    }

    /// The messages of a conversation that no turn has taken yet, the oldest first.
    pub async fn pending(&self, conversation: &ConversationId) -> Result<Vec<Message>, StoreError> {
        self.run(read::Pending(conversation.clone())).await
    }

    /// At most `limit` conversations with pending messages, the longest-waiting first.
    pub async fn conversations_with_pending(&self, limit: u32) -> Result<Vec<ConversationId>, StoreError> {
        self.run(read::WithPending(limit)).await
    }
}

/// The columns that [`message`] reads, in order.
macro_rules! columns {
    () => {
        "seq, id, conversation_id, role, kind, content, trust, provenance, author, turn_id, \
         tokens_in, tokens_out, cache_read, cache_write, created_at"
    };
}
pub(crate) use columns;

/// Appends a message to its conversation. The caller holds the conversation's lock.
pub(crate) async fn append(sql: &mut Transaction<'_>, new: &NewMessage) -> Result<Message, StoreError> {
    insert(sql, new, None).await
}

async fn insert(
    sql: &mut Transaction<'_>,
    new: &NewMessage,
    key: Option<&IdempotencyKey>,
) -> Result<Message, StoreError> {
    let seq = next_seq(sql, new).await?;
    let usage = |part: fn(&Usage) -> u64| Value::from(new.usage.as_ref().map(part));
    let written = sql
        .execute(
            // The id or the key may belong to another conversation, which is not locked here.
            "INSERT INTO messages (conversation_id, seq, id, role, kind, content, trust, provenance, author, turn_id,
                 tokens_in, tokens_out, cache_read, cache_write, created_at, idempotency_scope, idempotency_key)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
             ON CONFLICT DO NOTHING",
            &[
                (&new.conversation).into(),
                seq.into(),
                (&new.id).into(),
                new.role.as_str().into(),
                new.kind.as_str().into(),
                content(new)?.into(),
                new.trust.into(),
                new.provenance.as_str().into(),
                new.author.as_deref().into(),
                new.turn.as_ref().into(),
                usage(|usage| usage.input),
                usage(|usage| usage.output),
                usage(|usage| usage.cache_read),
                usage(|usage| usage.cache_write),
                new.at.into(),
                key.map(|key| key.scope.as_str()).into(),
                key.map(|key| key.key.as_str()).into(),
            ],
        )
        .await?;
    if written == 0 {
        // The caller has checked the id and the key, and ids are unique, so it is the key.
        let (what, id) = key
            .map_or_else(|| ("message id", new.id.to_string()), |key| ("idempotency key", key.key.clone()));
        return Err(StoreError::UsedBefore { what, id });
    }
    sql.announce(StoreChange::Conversation(new.conversation.clone()));
    Ok(Message { seq, message: new.clone() })
}

/// The stored form of a message's content.
fn content(new: &NewMessage) -> Result<String, StoreError> {
    serde_json::to_string(&new.content)
        .map_err(|error| StoreError::Unreadable { what: format!("a message's content: {error}") })
}

/// Allocates the next sequence number and updates the conversation's last activity.
const NEXT_SEQ: &str = "UPDATE conversations SET next_seq = next_seq + 1,
         last_activity_at = CASE WHEN last_activity_at < ?2 THEN ?2 ELSE last_activity_at END
     WHERE id = ?1 RETURNING next_seq - 1";

async fn next_seq(sql: &mut Transaction<'_>, new: &NewMessage) -> Result<u64, StoreError> {
    match sql.query_optional(NEXT_SEQ, values![&new.conversation, new.at]).await? {
        Some(row) => row.get(0),
        None => Err(not_found(&new.conversation)),
    }
}

/// Reads a message from a row of [`COLUMNS`].
pub(crate) fn message(row: &Row) -> Result<Message, StoreError> {
    let usage = match row.get::<Option<u64>>(10)? {
        Some(input) => {
            // The cache lifetime only matters for the price, which is in the events.
            let (output, cache_read, cache_write) = (row.get(11)?, row.get(12)?, row.get(13)?);
            Some(Usage { input, output, cache_read, cache_write, cache_write_1h: 0, cache_unknown: false })
        }
        None => None,
    };
    let message = NewMessage {
        id: row.parse(1)?,
        conversation: row.parse(2)?,
        role: row.parse(3)?,
        kind: row.parse(4)?,
        content: row.json(5)?,
        trust: row.parse(6)?,
        provenance: row.parse(7)?,
        author: row.get(8)?,
        turn: row.parse_optional(9)?,
        usage,
        at: row.parse(14)?,
    };
    Ok(Message { seq: row.get(0)?, message })
}
