//! Hand-overs: a conversation goes from one agent to another. The agent in the conversation, the record of it and a notice
//! among the messages are written together, and never while a turn is under way.
//!
//! A turn that is under way can wish for one ([`Store::wish_hand_over`]). The wish is durable at once and is fulfilled in the
//! transaction that ends the turn, on whichever node that happens; a turn that ends in another way than by an answer takes
//! its wish with it.

use foreword_core::hand_over::{HandOver, Spoke, Wish, notice};
use foreword_core::id::{ConversationId, MessageId, TurnId};
use foreword_core::message::{ContentBlock, Kind, Message, NewMessage, Provenance, Role};
use foreword_core::timestamp::Timestamp;

use crate::changes::Change;
use crate::conversations::{lock, not_found};
use crate::engine::{Access, Operation, Row, Sql, values};
use crate::error::StoreError;
use crate::messages;
use crate::store::Store;

/// A hand-over to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewHandOver {
    /// The conversation.
    pub conversation: ConversationId,
    /// The agent that gets it.
    pub to: String,
    /// Whose wish it is.
    pub wish: Wish,
    /// The id of the notice.
    pub notice: MessageId,
    /// When.
    pub at: Timestamp,
}

/// What became of a hand-over.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
    /// The conversation has another agent now; the notice says so.
    HandedOver(Box<(HandOver, Message)>),
    /// That agent has it already.
    Same,
    /// A turn is under way.
    Busy,
}

/// What is asked before each turn.
#[cfg(test)]
pub(crate) const STATEMENTS: &[&str] = &[OF_CONVERSATION, ALL, WISHED];

const OF_CONVERSATION: &str = "SELECT c.agent,
         (SELECT COUNT(*) FROM hand_overs AS h WHERE h.conversation_id = c.id AND h.after_seq IS NOT NULL)
     FROM conversations AS c WHERE c.id = ?1";
const ALL: &str =
    "SELECT number, from_agent, to_agent, by_user, reason, said, trust, turn_id, after_seq, created_at
     FROM hand_overs WHERE conversation_id = ?1 AND after_seq IS NOT NULL ORDER BY number";
const WISHED: &str = "SELECT number, to_agent, by_user, reason, trust FROM hand_overs
     WHERE conversation_id = ?1 AND after_seq IS NULL ORDER BY number";

impl Store {
    /// Gives a conversation to another agent, if no turn is under way in it.
    ///
    /// # Errors
    /// If there is no such conversation, or it can't be written.
    pub async fn hand_over(&self, new: NewHandOver) -> Result<Given, StoreError> {
        self.run(Give(new)).await
    }

    /// Notes that `turn` wishes to give its conversation to another agent when it ends. A later wish replaces it.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if the turn is not under way, or if it can't be written.
    pub async fn wish_hand_over(&self, turn: &TurnId, new: NewHandOver) -> Result<(), StoreError> {
        self.run(MakeWish { turn: turn.clone(), new }).await
    }

    /// The hand-overs that took place in a conversation, the oldest first.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn hand_overs(&self, conversation: &ConversationId) -> Result<Vec<HandOver>, StoreError> {
        self.run(List(conversation.clone())).await
    }
}

struct Give(NewHandOver);

impl Operation for Give {
    type Output = Given;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Given, StoreError> {
        let new = &self.0;
        lock(sql, &new.conversation).await?;
        let select = "SELECT agent, lease_turn FROM conversations WHERE id = ?1";
        let row = sql.query_optional(select, values![&new.conversation]).await?;
        let row = row.ok_or_else(|| not_found(&new.conversation))?;
        if row.get::<Option<String>>(1)?.is_some() {
            return Ok(Given::Busy);
        }
        let from: String = row.get(0)?;
        if from == new.to {
            return Ok(Given::Same);
        }
        let number = next_number(sql, &new.conversation).await?;
        let made = make(sql, new, (number, &from, None)).await?;
        Ok(Given::HandedOver(Box::new(made)))
    }
}

struct MakeWish {
    turn: TurnId,
    new: NewHandOver,
}

impl Operation for MakeWish {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<(), StoreError> {
        let new = &self.new;
        lock(sql, &new.conversation).await?;
        let select = "SELECT agent, lease_turn FROM conversations WHERE id = ?1";
        let row = sql.query_optional(select, values![&new.conversation]).await?;
        let row = row.ok_or_else(|| not_found(&new.conversation))?;
        if row.get::<Option<String>>(1)?.as_deref() != Some(self.turn.as_str()) {
            let reason = format!("turn `{}` is not under way in it", self.turn);
            return Err(StoreError::Refused {
                what: "hand-over of",
                id: new.conversation.to_string(),
                reason,
            });
        }
        forget_wishes(sql, &new.conversation).await?;
        let number = next_number(sql, &new.conversation).await?;
        let from: String = row.get(0)?;
        insert(sql, new, (number, &from, Some(&self.turn)), (&[], None)).await
    }
}

struct List(ConversationId);

impl Operation for List {
    type Output = Vec<HandOver>;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Vec<HandOver>, StoreError> {
        sql.query(ALL, values![&self.0]).await?.iter().map(hand_over).collect()
    }
}

/// The agent that has a conversation, and how it came to it. `None` if there is no such conversation.
pub(crate) async fn agent_of<S: Sql>(
    sql: &mut S,
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

/// Whether a turn that ends has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Answered,
    Otherwise,
}

/// Fulfils or forgets what a turn that has just ended has wished for. The caller holds the conversation's lock.
pub(crate) async fn settle<S: Sql>(
    sql: &mut S,
    conversation: &ConversationId,
    turn: &TurnId,
    (ended, at): (Ended, Timestamp),
) -> Result<(), StoreError> {
    let Some(row) = sql.query_optional(WISHED, values![conversation]).await? else { return Ok(()) };
    forget_wishes(sql, conversation).await?;
    let from =
        sql.query_optional("SELECT agent FROM conversations WHERE id = ?1", values![conversation]).await?;
    let from: String = from.ok_or_else(|| not_found(conversation))?.get(0)?;
    let to: String = row.get(1)?;
    if ended == Ended::Otherwise || from == to {
        return Ok(());
    }
    let wish = Wish { user: row.get(2)?, by_agent: true, reason: row.get(3)?, trust: row.parse(4)? };
    // As all that a turn leaves it is named after it, so that it is the same again.
    let notice = MessageId::new(format!("{turn}-hand-over"))
        .map_err(|error| StoreError::Unreadable { what: error.to_string() })?;
    let new = NewHandOver { conversation: conversation.clone(), to, wish, notice, at };
    make(sql, &new, (row.get(0)?, &from, Some(turn))).await.map(drop)
}

async fn forget_wishes<S: Sql>(sql: &mut S, conversation: &ConversationId) -> Result<(), StoreError> {
    let delete = "DELETE FROM hand_overs WHERE conversation_id = ?1 AND after_seq IS NULL";
    sql.execute(delete, values![conversation]).await.map(drop)
}

async fn next_number<S: Sql>(sql: &mut S, conversation: &ConversationId) -> Result<u64, StoreError> {
    let select = "SELECT COALESCE(MAX(number), 0) FROM hand_overs WHERE conversation_id = ?1";
    let row = sql.query_optional(select, values![conversation]).await?;
    Ok(row.map_or(Ok(0), |row| row.get::<u64>(0))? + 1)
}

/// Gives the conversation to its new agent, says so in it, and records who has spoken until then.
async fn make<S: Sql>(
    sql: &mut S,
    new: &NewHandOver,
    (number, from, turn): (u64, &str, Option<&TurnId>),
) -> Result<(HandOver, Message), StoreError> {
    let conversation = &new.conversation;
    let before = "SELECT COALESCE(MAX(after_seq), 0) FROM hand_overs WHERE conversation_id = ?1";
    let before = sql.query_optional(before, values![conversation]).await?;
    let before: u64 = before.map_or(Ok(0), |row| row.get(0))?;
    let said = spoken_since(sql, conversation, before).await?;
    let text = notice(from, &new.to, &new.wish);
    let told = messages::append(sql, &notice_of(new, text)).await?;
    let after = told.seq - 1;
    insert(sql, new, (number, from, turn), (&said, Some(after))).await?;
    sql.execute("UPDATE conversations SET agent = ?2 WHERE id = ?1", values![conversation, &new.to]).await?;
    sql.announce(Change::Conversation(conversation.clone())).await?;
    let (from, to, wish) = (from.to_owned(), new.to.clone(), new.wish.clone());
    Ok((HandOver { number, from, to, wish, said, after, at: new.at }, told))
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

/// Who has said something that was answered, and who has answered, by trust. Several messages of one turn are one answer.
async fn spoken_since<S: Sql>(
    sql: &mut S,
    conversation: &ConversationId,
    before: u64,
) -> Result<Vec<Spoke>, StoreError> {
    let select = "SELECT role, author, trust,
             CASE WHEN role = 'assistant' THEN COUNT(DISTINCT turn_id) ELSE COUNT(*) END
         FROM messages
         WHERE conversation_id = ?1 AND seq > ?2 AND kind = 'message' AND role IN ('user', 'assistant')
             AND author IS NOT NULL AND turn_id IS NOT NULL
         GROUP BY role, author, trust ORDER BY MIN(seq), trust";
    let spoke = |row: &Row| {
        let role: Role = row.parse(0)?;
        Ok(Spoke {
            who: row.get(1)?,
            agent: role == Role::Assistant,
            trust: row.parse(2)?,
            times: row.get(3)?,
        })
    };
    sql.query(select, values![conversation, before]).await?.iter().map(spoke).collect()
}

async fn insert<S: Sql>(
    sql: &mut S,
    new: &NewHandOver,
    (number, from, turn): (u64, &str, Option<&TurnId>),
    (said, after): (&[Spoke], Option<u64>),
) -> Result<(), StoreError> {
    let said = serde_json::to_string(said)
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
            number,
            from,
            &new.to,
            wish.user.as_deref(),
            wish.reason.as_deref(),
            said,
            wish.trust,
            turn,
            after,
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
        wish: Wish {
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
