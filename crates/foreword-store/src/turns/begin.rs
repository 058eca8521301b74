//! Begins a turn: lease, messages and first step, in one transaction.

use foreword_core::id::MessageId;
use foreword_core::lease::Lease;
use foreword_core::message::Message;
use foreword_core::turn_journal::{JournalStep, TurnState};

use super::lease::Claimed;
use super::{BeginOutcome, BeginTurn, StartedTurn, TakeMessages, TurnLease, lease, rows, steps};
use crate::changes::StoreChange;
use crate::conversation_settings;
use crate::engine::{Access, Transaction, values};
use crate::error::StoreError;
use crate::messages::{self, columns};

pub(super) struct Operation(pub(super) BeginTurn);

impl crate::engine::Operation for Operation {
    type Output = BeginOutcome;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<BeginOutcome, StoreError> {
        let new = &self.0;
        let held = lease::locked(sql, &new.conversation).await?;
        if let Some(turn) = rows::find(sql, &new.turn).await? {
            return again(sql, new, &turn).await;
        }
        let clock = sql.clock(new.now).await?;
        if let Some(held) = held {
            if held.is_free(sql, &new.conversation, clock).await? {
                return Ok(BeginOutcome::Unfinished { turn: held.turn });
            }
            return Ok(BeginOutcome::Busy { holder: held.holder().clone(), turn: held.turn });
        }
        let messages = take(sql, new).await?;
        if messages.is_empty() && new.take != TakeMessages::Nothing {
            return Ok(BeginOutcome::NothingToTake);
        }
        let lease = Lease { renewed_at: clock, duration: new.lease };
        let Claimed { fence, settings_version } =
            lease::claim(sql, &new.conversation, &new.turn, &new.node, lease).await?;
        sql.execute(
            "INSERT INTO turns (id, conversation_id, state, trust, fence, holder, started_at, user_id)
             VALUES (?1, ?2, 'running', ?3, ?4, ?5, ?6, (SELECT user_id FROM conversations WHERE id = ?2))",
            values![&new.turn, &new.conversation, new.trust, fence, &new.node, new.now],
        )
        .await?;
        let accepted =
            JournalStep::Accepted { messages: messages.iter().map(|m| m.message.id.clone()).collect() };
        steps::write(sql, &new.turn, 1, &accepted, new.now).await?;
        sql.announce(StoreChange::Conversation(new.conversation.clone()));
        let hold = TurnLease { turn: new.turn.clone(), fence };
        Ok(BeginOutcome::Begun(StartedTurn { hold, messages, next_step: 2, settings_version }))
    }
}

/// The turn exists: the caller retries after a lost response.
async fn again(
    sql: &mut Transaction<'_>,
    new: &BeginTurn,
    turn: &super::StoredTurn,
) -> Result<BeginOutcome, StoreError> {
    let same = turn.conversation == new.conversation && turn.holder == new.node && turn.attempts == 1;
    if !same || turn.state != TurnState::Running {
        return Err(StoreError::UsedBefore { what: "turn id", id: new.turn.to_string() });
    }
    let select = concat!(
        "SELECT ",
        columns!(),
        " FROM messages WHERE conversation_id = ?1 AND turn_id = ?2 ORDER BY seq"
    );
    let rows = sql.query(select, values![&new.conversation, &new.turn]).await?;
    let messages = rows.iter().map(messages::message).collect::<Result<_, _>>()?;
    let next_step = steps::next_number(sql, &new.turn).await?;
    let settings = conversation_settings::read(sql, &new.conversation).await?;
    let settings_version = settings.map_or(0, |settings| settings.version);
    let hold = TurnLease { turn: new.turn.clone(), fence: turn.fence };
    Ok(BeginOutcome::Begun(StartedTurn { hold, messages, next_step, settings_version }))
}

/// Assigns the messages to this turn and returns them in order.
async fn take(sql: &mut Transaction<'_>, new: &BeginTurn) -> Result<Vec<Message>, StoreError> {
    let mut taken = match &new.take {
        TakeMessages::Nothing => Vec::new(),
        TakeMessages::Pending => {
            let update = concat!(
                "UPDATE messages SET turn_id = ?2
                 WHERE conversation_id = ?1 AND turn_id IS NULL AND role = 'user' AND kind = 'message' RETURNING ",
                columns!()
            );
            let rows = sql.query(update, values![&new.conversation, &new.turn]).await?;
            rows.iter().map(messages::message).collect::<Result<Vec<_>, _>>()?
        }
        TakeMessages::Messages(ids) => take_each(sql, new, ids).await?,
    };
    // `RETURNING` has no defined order.
    taken.sort_by_key(|message| message.seq);
    Ok(taken)
}

async fn take_each(
    sql: &mut Transaction<'_>,
    new: &BeginTurn,
    ids: &[MessageId],
) -> Result<Vec<Message>, StoreError> {
    let update = concat!(
        "UPDATE messages SET turn_id = ?2 WHERE conversation_id = ?1 AND id = ?3 AND turn_id IS NULL RETURNING ",
        columns!()
    );
    let mut taken = Vec::new();
    for id in ids {
        let row = sql.query_optional(update, values![&new.conversation, &new.turn, id]).await?;
        taken.extend(row.as_ref().map(messages::message).transpose()?);
    }
    Ok(taken)
}
