//! Finishes a turn: reply, last step, state and release of the lease, in one transaction.

use foreword_core::failure::Failure;
use foreword_core::id::ConversationId;
use foreword_core::message::{Message, NewMessage};
use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::{JournalStep, Outcome, TurnState};

use super::{FinishTurn, TurnLease, lease, rows, steps};
use crate::changes::StoreChange;
use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;
use crate::hand_overs::{self, FiringEnd};
use crate::messages::{self, columns};

pub(super) struct Finish {
    pub(super) hold: TurnLease,
    pub(super) finish: FinishTurn,
}

impl Operation for Finish {
    type Output = Vec<Message>;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<Message>, StoreError> {
        let finish = &self.finish;
        let end = End {
            state: TurnState::Ended(finish.outcome),
            failure: finish.failure.as_ref(),
            messages: &finish.reply,
            replied: finish.outcome == Outcome::Done || !finish.reply.is_empty(),
            at: finish.at,
        };
        end.write(sql, &self.hold).await
    }
}

pub(super) struct Report {
    pub(super) hold: TurnLease,
    pub(super) why: Failure,
    pub(super) notice: NewMessage,
}

impl Operation for Report {
    type Output = Message;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Message, StoreError> {
        let end = End {
            state: TurnState::Interrupted,
            failure: Some(&self.why),
            messages: std::slice::from_ref(&self.notice),
            replied: false,
            at: self.notice.at,
        };
        let mut written = end.write(sql, &self.hold).await?;
        let missing = || StoreError::NotFound { what: "message", id: self.notice.id.to_string() };
        written.pop().ok_or_else(missing)
    }
}

/// The end of a turn, finished or interrupted.
struct End<'a> {
    state: TurnState,
    failure: Option<&'a Failure>,
    messages: &'a [NewMessage],
    /// Whether the messages are the turn's answer.
    replied: bool,
    at: Timestamp,
}

impl End<'_> {
    async fn write(&self, sql: &mut Transaction<'_>, hold: &TurnLease) -> Result<Vec<Message>, StoreError> {
        let conversation = match lease::check(sql, hold).await {
            Ok(conversation) => conversation,
            Err(lost @ StoreError::LeaseLost { .. }) => return self.again(sql, hold, lost).await,
            Err(error) => return Err(error),
        };
        let mut written = Vec::new();
        for message in self.messages {
            written.push(append(sql, &conversation, hold, message).await?);
        }
        if self.replied {
            let messages = self.messages.iter().map(|message| message.id.clone()).collect();
            let number = steps::next_number(sql, &hold.turn).await?;
            steps::write(sql, &hold.turn, number, &JournalStep::Replied { messages }, self.at).await?;
        }
        // The saved state is not needed any more.
        let update = "UPDATE turns SET state = ?2, error = ?3, ended_at = ?4, saved = NULL WHERE id = ?1";
        let error = self.failure.map(Failure::to_record);
        sql.execute(update, values![&hold.turn, self.state.as_str(), error, self.at]).await?;
        lease::release(sql, &conversation).await?;
        let answered = self.state == TurnState::Ended(Outcome::Done);
        let ended = if answered { FiringEnd::Answered } else { FiringEnd::Otherwise };
        hand_overs::apply_or_discard(sql, &conversation, &hold.turn, ended, self.at).await?;
        sql.announce(StoreChange::Conversation(conversation));
        Ok(written)
    }

    /// The turn has ended: succeeds if this hold ended it in the same way, which is a retry after a lost response.
    async fn again(
        &self,
        sql: &mut Transaction<'_>,
        hold: &TurnLease,
        lost: StoreError,
    ) -> Result<Vec<Message>, StoreError> {
        let turn = rows::get(sql, &hold.turn).await?;
        if turn.fence != hold.fence || turn.state != self.state {
            return Err(lost);
        }
        let select = concat!("SELECT ", columns!(), " FROM messages WHERE turn_id = ?1 AND id = ?2");
        let mut written = Vec::new();
        for message in self.messages {
            match sql.query_optional(select, values![&hold.turn, &message.id]).await? {
                Some(row) => written.push(messages::message(&row)?),
                None => return Err(lost),
            }
        }
        Ok(written)
    }
}

/// Appends a message of the turn.
async fn append(
    sql: &mut Transaction<'_>,
    conversation: &ConversationId,
    hold: &TurnLease,
    message: &NewMessage,
) -> Result<Message, StoreError> {
    if message.conversation != *conversation {
        let reason = format!("the turn is in conversation `{conversation}`");
        return Err(StoreError::Refused { what: "message", id: message.id.to_string(), reason });
    }
    messages::append(sql, &NewMessage { turn: Some(hold.turn.clone()), ..message.clone() }).await
}
