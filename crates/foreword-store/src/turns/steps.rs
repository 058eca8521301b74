//! Writes of a running turn: lease renewals, steps and saved state.

use foreword_core::id::TurnId;
use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::{JournalStep, PromptBuilt, StepPlacement, StepRefused, place_step};
use serde_json::Value;

use super::{NewStep, TurnLease, lease};
use crate::changes::StoreChange;
use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;

pub(super) struct Renew {
    pub(super) hold: TurnLease,
    pub(super) now: Timestamp,
}

impl Operation for Renew {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        lease::check_and_renew(sql, &self.hold, self.now).await
    }
}

pub(super) struct Leave(pub(super) TurnLease);

impl Operation for Leave {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        let conversation = lease::check(sql, &self.0).await?;
        // The fence stays, so that this holder's writes fail once another node has claimed the turn.
        let update = "UPDATE conversations SET lease_millis = 0 WHERE id = ?1";
        sql.execute(update, values![&conversation]).await?;
        sql.announce(StoreChange::Conversation(conversation));
        Ok(())
    }
}

pub(super) struct Save {
    pub(super) hold: TurnLease,
    pub(super) saved: Value,
    pub(super) now: Timestamp,
}

impl Operation for Save {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        lease::check_and_renew(sql, &self.hold, self.now).await?;
        save(sql, &self.hold.turn, &self.saved).await
    }
}

pub(super) struct Record {
    pub(super) hold: TurnLease,
    pub(super) step: NewStep,
}

impl Operation for Record {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        let (turn, new) = (&self.hold.turn, &self.step);
        lease::check_and_renew(sql, &self.hold, new.at).await?;
        let there = at_number(sql, turn, new.number).await?;
        let next = next_number(sql, turn).await?;
        match place_step(new.number, &new.step, next, there.as_ref()) {
            // The state saved with it, or a newer one, is stored already.
            Ok(StepPlacement::Already) => return Ok(()),
            Ok(StepPlacement::Next) => {}
            Err(reason) => return Err(refused(turn, new.number, &reason)),
        }
        write(sql, turn, new.number, &new.step, new.at).await?;
        if let JournalStep::PromptBuilt(prompt) = &new.step {
            note_prompt(sql, turn, prompt).await?;
        }
        match &new.saved {
            Some(saved) => save(sql, turn, saved).await,
            None => Ok(()),
        }
    }
}

fn refused(turn: &TurnId, number: u64, reason: &StepRefused) -> StoreError {
    StoreError::Refused { what: "step", id: format!("{turn}/{number}"), reason: reason.to_string() }
}

/// Inserts a step.
pub(super) async fn write(
    sql: &mut Transaction<'_>,
    turn: &TurnId,
    number: u64,
    step: &JournalStep,
    at: Timestamp,
) -> Result<(), StoreError> {
    let insert =
        "INSERT INTO turn_steps (turn_id, number, kind, data, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";
    sql.execute(insert, values![turn, number, step.kind(), json(step)?, at]).await?;
    Ok(())
}

/// The next free step number.
pub(super) async fn next_number(sql: &mut Transaction<'_>, turn: &TurnId) -> Result<u64, StoreError> {
    let select = "SELECT MAX(number) FROM turn_steps WHERE turn_id = ?1";
    let row = sql.query_optional(select, values![turn]).await?;
    Ok(row.map_or(Ok(None), |row| row.get::<Option<u64>>(0))?.unwrap_or(0) + 1)
}

async fn at_number(
    sql: &mut Transaction<'_>,
    turn: &TurnId,
    number: u64,
) -> Result<Option<JournalStep>, StoreError> {
    let select = "SELECT data FROM turn_steps WHERE turn_id = ?1 AND number = ?2";
    sql.query_optional(select, values![turn, number]).await?.map(|row| row.json(0)).transpose()
}

async fn note_prompt(
    sql: &mut Transaction<'_>,
    turn: &TurnId,
    prompt: &PromptBuilt,
) -> Result<(), StoreError> {
    let update = "UPDATE turns SET epoch = ?2, fingerprint = ?3, layer_versions = ?4 WHERE id = ?1";
    let versions = json(&prompt.layer_versions)?;
    sql.execute(update, values![turn, prompt.epoch, prompt.fingerprint, versions]).await?;
    Ok(())
}

async fn save(sql: &mut Transaction<'_>, turn: &TurnId, saved: &Value) -> Result<(), StoreError> {
    sql.execute("UPDATE turns SET saved = ?2 WHERE id = ?1", values![turn, saved]).await?;
    Ok(())
}

fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Unreadable { what: format!("a step of a turn: {error}") })
}
