//! Hand-overs of a conversation from one agent to another. The conversation's agent, the record and a notice message
//! are written in one transaction, never during a turn.
//!
//! A running turn can request a hand-over ([`Store::request_hand_over`]). The request is durable at once and is applied
//! in the transaction that finishes the turn, on any node. It is discarded if the turn does not end with an answer.

use foreword_core::hand_over::{HandOver, HandOverRequest, SpeakerCount, notice};
use foreword_core::id::{ConversationId, MessageId, TurnId};
use foreword_core::message::{ContentBlock, Kind, Message, NewMessage, Provenance, Role};
use foreword_core::timestamp::Timestamp;

use crate::changes::StoreChange;
use crate::conversation_lock::{lock, not_found};
use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::messages;
use crate::store::Store;

/// A hand-over to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewHandOver {
    pub conversation: ConversationId,
    /// The receiving agent.
    pub to: String,
    /// Who requests it, and why.
    pub wish: HandOverRequest,
    pub notice: MessageId,
    /// The time of the hand-over.
    pub at: Timestamp,
}

/// The outcome of a hand-over.
#[derive(Debug, Clone, PartialEq)]
pub enum HandOverOutcome {
    /// The conversation has a new agent; with the notice message.
    HandedOver(Box<(HandOver, Message)>),
    /// The agent has the conversation already.
    Same,
    /// A turn is running.
    Busy,
}

/// The statements that run before each turn.
#[cfg(test)]
pub(crate) const STATEMENTS: &[&str] = &[OF_CONVERSATION, ALL, REQUESTED];

const OF_CONVERSATION: &str = "SELECT c.agent,
         (SELECT COUNT(*) FROM hand_overs AS h WHERE h.conversation_id = c.id AND h.after_seq IS NOT NULL)
     FROM conversations AS c WHERE c.id = ?1";
const ALL: &str =
    "SELECT number, from_agent, to_agent, by_user, reason, said, trust, turn_id, after_seq, created_at
     FROM hand_overs WHERE conversation_id = ?1 AND after_seq IS NOT NULL ORDER BY number";
const REQUESTED: &str = "SELECT number, to_agent, by_user, reason, trust FROM hand_overs
     WHERE conversation_id = ?1 AND after_seq IS NULL ORDER BY number";

impl Store {
    /// Hands a conversation over to another agent, unless a turn is running.
    ///
    /// # Errors
    /// If there is no such conversation, or the database can't be written.
    pub async fn hand_over(&self, new: NewHandOver) -> Result<HandOverOutcome, StoreError> {
        self.run(HandOverConversation(new)).await
    }

    /// Requests a hand-over at the end of `turn`. A later request replaces it.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if the turn is not running, or if the database can't be written.
    pub async fn request_hand_over(&self, turn: &TurnId, new: NewHandOver) -> Result<(), StoreError> {
        self.run(Request { turn: turn.clone(), new }).await
    }

    /// The hand-overs of a conversation, the oldest first.
    pub async fn hand_overs(&self, conversation: &ConversationId) -> Result<Vec<HandOver>, StoreError> {
        self.run(List(conversation.clone())).await
    }
}

struct HandOverConversation(NewHandOver);

impl Operation for HandOverConversation {
    type Output = HandOverOutcome;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<HandOverOutcome, StoreError> {
        let new = &self.0;
        lock(sql, &new.conversation).await?;
        let select = "SELECT agent, lease_turn FROM conversations WHERE id = ?1";
        let row = sql.query_optional(select, values![&new.conversation]).await?;
        let row = row.ok_or_else(|| not_found(&new.conversation))?;
        if row.get::<Option<String>>(1)?.is_some() {
            return Ok(HandOverOutcome::Busy);
        }
        let from: String = row.get(0)?;
        if from == new.to {
            return Ok(HandOverOutcome::Same);
        }
        let number = next_number(sql, &new.conversation).await?;
        let made = make(sql, new, number, &from, None).await?;
        Ok(HandOverOutcome::HandedOver(Box::new(made)))
    }
}

struct Request {
    turn: TurnId,
    new: NewHandOver,
}

impl Operation for Request {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        let new = &self.new;
        lock(sql, &new.conversation).await?;
        let select = "SELECT agent, lease_turn FROM conversations WHERE id = ?1";
        let row = sql.query_optional(select, values![&new.conversation]).await?;
        let row = row.ok_or_else(|| not_found(&new.conversation))?;
        if row.get::<Option<String>>(1)?.as_deref() != Some(self.turn.as_str()) {
            let reason = format!("turn `{}` is not running in it", self.turn);
            return Err(StoreError::Refused {
                what: "hand-over of",
                id: new.conversation.to_string(),
                reason,
            });
        }
        discard_requests(sql, &new.conversation).await?;
        let number = next_number(sql, &new.conversation).await?;
        let from: String = row.get(0)?;
        let record = Record { number, from: &from, turn: Some(&self.turn), said: &[], after: None };
        insert(sql, new, record).await
    }
}

struct List(ConversationId);

impl Operation for List {
    type Output = Vec<HandOver>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<HandOver>, StoreError> {
        sql.query(ALL, values![&self.0]).await?.iter().map(hand_over).collect()
    }
}

/// The agent of a conversation and its hand-overs so far. `None` if there is no such conversation.
pub(crate) async fn agent_of(
    sql: &mut Transaction<'_>,
    conversation: &ConversationId,
) -> Result<Option<(String, Vec<HandOver>)>, StoreError> {
    let Some(row) = sql.query_optional(OF_CONVERSATION, values![conversation]).await? else {
        return Ok(None);
    };
    let hand_overs = match row.get::<u64>(1)? {
        0 => Vec::new(),
        _ => sql.query(ALL, values![conversation]).await?.iter().map(hand_over).collect::<Result<_, _>>()?,
    };
    Ok(Some((row.get(0)?, hand_overs)))
}

/// Whether a finished turn has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FiringEnd {
    Answered,
    Otherwise,
}

/// Applies or discards the hand-over that a finished turn has requested. The caller holds the conversation's lock.
pub(crate) async fn apply_or_discard(
    sql: &mut Transaction<'_>,
    conversation: &ConversationId,
    turn: &TurnId,
    ended: FiringEnd,
    at: Timestamp,
) -> Result<(), StoreError> {
    let Some(row) = sql.query_optional(REQUESTED, values![conversation]).await? else { return Ok(()) };
    discard_requests(sql, conversation).await?;
    let from =
        sql.query_optional("SELECT agent FROM conversations WHERE id = ?1", values![conversation]).await?;
    let from: String = from.ok_or_else(|| not_found(conversation))?.get(0)?;
    let to: String = row.get(1)?;
    if ended == FiringEnd::Otherwise || from == to {
        return Ok(());
    }
    let wish =
        HandOverRequest { user: row.get(2)?, by_agent: true, reason: row.get(3)?, trust: row.parse(4)? };
    // Derived from the turn's id, so that a retry creates the same message.
    let notice = MessageId::new(format!("{turn}-hand-over"))
        .map_err(|error| StoreError::Unreadable { what: error.to_string() })?;
    let new = NewHandOver { conversation: conversation.clone(), to, wish, notice, at };
    make(sql, &new, row.get(0)?, &from, Some(turn)).await.map(drop)
}

async fn discard_requests(
    sql: &mut Transaction<'_>,
    conversation: &ConversationId,
) -> Result<(), StoreError> {
    let delete = "DELETE FROM hand_overs WHERE conversation_id = ?1 AND after_seq IS NULL";
    sql.execute(delete, values![conversation]).await.map(drop)
}

async fn next_number(sql: &mut Transaction<'_>, conversation: &ConversationId) -> Result<u64, StoreError> {
    let select = "SELECT COALESCE(MAX(number), 0) FROM hand_overs WHERE conversation_id = ?1";
    let row = sql.query_optional(select, values![conversation]).await?;
    Ok(row.map_or(Ok(0), |row| row.get::<u64>(0))? + 1)
}

/// Sets the new agent, adds the notice, and records who has spoken so far.
async fn make(
    sql: &mut Transaction<'_>,
    new: &NewHandOver,
    number: u64,
    from: &str,
    turn: Option<&TurnId>,
) -> Result<(HandOver, Message), StoreError> {
    let conversation = &new.conversation;
    let before = "SELECT COALESCE(MAX(after_seq), 0) FROM hand_overs WHERE conversation_id = ?1";
    let before = sql.query_optional(before, values![conversation]).await?;
    let before: u64 = before.map_or(Ok(0), |row| row.get(0))?;
    let said = spoken_since(sql, conversation, before).await?;
    let text = notice(from, &new.to, &new.wish);
    let notice = messages::append(sql, &notice_of(new, text)).await?;
    let after = notice.seq - 1;
    insert(sql, new, Record { number, from, turn, said: &said, after: Some(after) }).await?;
    sql.execute("UPDATE conversations SET agent = ?2 WHERE id = ?1", values![conversation, &new.to]).await?;
    sql.announce(StoreChange::Conversation(conversation.clone()));
    let (from, to, wish) = (from.to_owned(), new.to.clone(), new.wish.clone());
    Ok((HandOver { number, from, to, wish, said, after, at: new.at }, notice))
}

fn notice_of(new: &NewHandOver, text: String) -> NewMessage {
    NewMessage {
        id: new.notice.clone(),
        conversation: new.conversation.clone(),
        role: Role::System,
        kind: Kind::Notice,
        content: vec![ContentBlock::text(text)],
        trust: new.wish.trust,
        provenance: Provenance::Agent,
        author: None,
        turn: None,
        usage: None,
        at: new.at,
    }
}

/// Who wrote answered messages, and who answered, by trust. Several messages of one turn count as one answer.
async fn spoken_since(
    sql: &mut Transaction<'_>,
    conversation: &ConversationId,
    before: u64,
) -> Result<Vec<SpeakerCount>, StoreError> {
    let select = "SELECT role, author, trust,
             CASE WHEN role = 'assistant' THEN COUNT(DISTINCT turn_id) ELSE COUNT(*) END
         FROM messages
         WHERE conversation_id = ?1 AND seq > ?2 AND kind = 'message' AND role IN ('user', 'assistant')
             AND author IS NOT NULL AND turn_id IS NOT NULL
         GROUP BY role, author, trust ORDER BY MIN(seq), trust";
    let spoke = |row: &Row| {
        let role: Role = row.parse(0)?;
        Ok(SpeakerCount {
            who: row.get(1)?,
            agent: role == Role::Assistant,
            trust: row.parse(2)?,
            times: row.get(3)?,
        })
    };
    sql.query(select, values![conversation, before]).await?.iter().map(spoke).collect()
}

/// The columns of a hand-over that its [`NewHandOver`] does not have.
struct Record<'a> {
    number: u64,
    from: &'a str,
    turn: Option<&'a TurnId>,
    said: &'a [SpeakerCount],
    /// The last message before the hand-over; `None` while it is only requested.
    after: Option<u64>,
}

async fn insert(sql: &mut Transaction<'_>, new: &NewHandOver, record: Record<'_>) -> Result<(), StoreError> {
    let said = serde_json::to_string(record.said)
        .map_err(|error| StoreError::Unreadable { what: format!("who has spoken: {error}") })?;
    let insert =
        "INSERT INTO hand_overs (conversation_id, number, from_agent, to_agent, by_user, reason, said, trust,
             turn_id, after_seq, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    let wish = &new.wish;
    sql.execute(
        insert,
        values![
            &new.conversation,
            record.number,
            record.from,
            &new.to,
            wish.user.as_deref(),
            wish.reason.as_deref(),
            said,
            wish.trust,
            record.turn,
            record.after,
            new.at
        ],
    )
    .await
    .map(drop)
}

fn hand_over(row: &Row) -> Result<HandOver, StoreError> {
    Ok(HandOver {
        number: row.get(0)?,
        from: row.get(1)?,
        to: row.get(2)?,
        wish: HandOverRequest {
            user: row.get(3)?,
            by_agent: row.get::<Option<String>>(7)?.is_some(),
            reason: row.get(4)?,
            trust: row.parse(6)?,
        },
        said: row.json(5)?,
        after: row.get(8)?,
        at: row.parse(9)?,
    })
}
