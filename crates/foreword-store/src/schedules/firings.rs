//! Firings: each is claimed by one node, once, and finished once.

use foreword_core::id::{ConversationId, MessageId, NodeId};
use foreword_core::schedule::{FiringEnd, FiringOutcome};
use foreword_core::timestamp::Timestamp;

use super::{ClaimFiring, FinishFiring, FinishedFiring, Firing, FiringLinks, StoredSchedule};
use crate::changes::StoreChange;
use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::messages::IdempotencyKey;

/// The columns that [`firing`] reads.
macro_rules! columns {
    () => {
        "schedule, due_at, node, claimed_at, ended_at, outcome, error, note, conversation_id, message_id, run_id"
    };
}
pub(super) use columns;

/// The number of columns.
pub(super) const COLUMNS: usize = 11;

const INSERT: &str = "INSERT INTO schedule_firings (schedule, due_at, node, claimed_at, renewed_at)
    VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (schedule, due_at) DO NOTHING";

pub(super) struct Claim(pub(super) Vec<ClaimFiring>);

impl Operation for Claim {
    type Output = Vec<Firing>;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<Firing>, StoreError> {
        for claim in &self.0 {
            if let Some(next) = claim.next_fire_at.filter(|next| *next <= claim.due_at) {
                let reason = format!("the next firing, {next}, is not after this one, {}", claim.due_at);
                return Err(StoreError::Refused { what: "schedule", id: claim.schedule.clone(), reason });
            }
        }
        super::lock(sql).await?;
        let Some(first) = self.0.first() else { return Ok(Vec::new()) };
        let clock = sql.clock(first.now).await?;
        let mut claimed = Vec::new();
        for one in &self.0 {
            claimed.extend(claim(sql, one, clock).await?);
        }
        sql.announce(StoreChange::Schedules);
        Ok(claimed)
    }
}

async fn claim(
    sql: &mut Transaction<'_>,
    claim: &ClaimFiring,
    clock: Timestamp,
) -> Result<Option<Firing>, StoreError> {
    // Advances even if the firing was claimed before: otherwise it would stay due forever.
    let update =
        "UPDATE schedules SET next_fire_at = ?2 WHERE name = ?1 AND enabled = 1 AND next_fire_at = ?3";
    if sql.execute(update, values![&claim.schedule, claim.next_fire_at, claim.due_at]).await? == 0 {
        super::get(sql, &claim.schedule).await?;
        return Ok(None);
    }
    let values = values![&claim.schedule, claim.due_at, &claim.node, claim.now, clock];
    if sql.execute(INSERT, values).await? == 0 {
        return Ok(None);
    }
    let mut firing = begun(&claim.schedule, claim.due_at, &claim.node, claim.now);
    if let Some(note) = &claim.skip {
        let end = FiringEnd::Skipped { note: note.clone() };
        let schedule = super::get(sql, &claim.schedule).await?;
        write_end(
            sql,
            &schedule,
            &FinishFiring {
                schedule: claim.schedule.clone(),
                due_at: claim.due_at,
                end,
                links: FiringLinks::default(),
                now: claim.now,
            },
        )
        .await?;
        firing.ended_at = Some(claim.now);
        firing.outcome = Some(FiringOutcome::Skipped);
        firing.note = Some(note.clone());
    }
    Ok(Some(firing))
}

fn begun(schedule: &str, due_at: Timestamp, node: &NodeId, claimed_at: Timestamp) -> Firing {
    Firing {
        schedule: schedule.to_owned(),
        due_at,
        node: node.clone(),
        claimed_at,
        ended_at: None,
        outcome: None,
        error: None,
        note: None,
        links: FiringLinks::default(),
    }
}

pub(super) struct Begin {
    pub(super) schedule: String,
    pub(super) node: NodeId,
    pub(super) now: Timestamp,
}

impl Operation for Begin {
    type Output = Option<Firing>;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<Firing>, StoreError> {
        super::lock(sql).await?;
        super::get(sql, &self.schedule).await?;
        let clock = sql.clock(self.now).await?;
        let values = values![&self.schedule, self.now, &self.node, self.now, clock];
        if sql.execute(INSERT, values).await? == 0 {
            return Ok(None);
        }
        sql.announce(StoreChange::Schedules);
        Ok(Some(begun(&self.schedule, self.now, &self.node, self.now)))
    }
}

pub(super) struct Finish(pub(super) FinishFiring);

impl Operation for Finish {
    type Output = FinishedFiring;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<FinishedFiring, StoreError> {
        let finish = &self.0;
        super::lock(sql).await?;
        let select = "SELECT ended_at FROM schedule_firings WHERE schedule = ?1 AND due_at = ?2";
        let Some(row) = sql.query_optional(select, values![&finish.schedule, finish.due_at]).await? else {
            let id = format!("{} at {}", finish.schedule, finish.due_at);
            return Err(StoreError::NotFound { what: "firing", id });
        };
        let schedule = super::get(sql, &finish.schedule).await?;
        if row.parse_optional::<Timestamp>(0)?.is_some() {
            return Ok(FinishedFiring { schedule, first: false });
        }
        let schedule = write_end(sql, &schedule, finish).await?;
        sql.announce(StoreChange::Schedules);
        Ok(FinishedFiring { schedule, first: true })
    }
}

async fn write_end(
    sql: &mut Transaction<'_>,
    schedule: &StoredSchedule,
    finish: &FinishFiring,
) -> Result<StoredSchedule, StoreError> {
    let (end, links) = (&finish.end, &finish.links);
    let update = "UPDATE schedule_firings SET ended_at = ?3, outcome = ?4, error = ?5, note = ?6,
            conversation_id = ?7, message_id = ?8, run_id = ?9
        WHERE schedule = ?1 AND due_at = ?2";
    let values = values![
        &finish.schedule,
        finish.due_at,
        finish.now,
        end.outcome().as_str(),
        end.error(),
        end.note(),
        links.conversation.as_ref(),
        links.message.as_ref(),
        links.run.as_ref(),
    ];
    sql.execute(update, values).await?;
    let record = schedule.record.clone().after(finish.due_at, finish.now, end);
    let update = "UPDATE schedules SET last_due_at = ?2, last_ended_at = ?3, last_error = ?4, consecutive_failures = ?5
        WHERE name = ?1";
    let values = values![
        &finish.schedule,
        record.last_due_at,
        record.last_ended_at,
        record.last_error.as_deref(),
        record.consecutive_failures,
    ];
    sql.execute(update, values).await?;
    Ok(StoredSchedule { record, ..schedule.clone() })
}

pub(super) struct Unfinished;

impl Operation for Unfinished {
    type Output = Vec<Firing>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<Firing>, StoreError> {
        let select = concat!(
            "SELECT ",
            columns!(),
            " FROM schedule_firings WHERE ended_at IS NULL ORDER BY claimed_at, schedule, due_at"
        );
        sql.query(select, &[]).await?.iter().map(firing).collect()
    }
}

pub(super) struct List {
    pub(super) schedule: String,
    pub(super) limit: u32,
}

impl Operation for List {
    type Output = Vec<Firing>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<Firing>, StoreError> {
        let select = concat!(
            "SELECT ",
            columns!(),
            " FROM schedule_firings WHERE schedule = ?1 ORDER BY due_at DESC LIMIT ?2"
        );
        sql.query(select, values![&self.schedule, self.limit]).await?.iter().map(firing).collect()
    }
}

pub(super) struct Last;

impl Operation for Last {
    type Output = Vec<Firing>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<Firing>, StoreError> {
        let select = concat!(
            "SELECT ",
            columns!(),
            " FROM schedule_firings AS firing WHERE due_at =
                (SELECT MAX(due_at) FROM schedule_firings AS last WHERE last.schedule = firing.schedule)
            ORDER BY schedule"
        );
        sql.query(select, &[]).await?.iter().map(firing).collect()
    }
}

pub(super) struct MessageOf(pub(super) IdempotencyKey);

impl Operation for MessageOf {
    type Output = Option<(ConversationId, MessageId)>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Self::Output, StoreError> {
        let select =
            "SELECT conversation_id, id FROM messages WHERE idempotency_scope = ?1 AND idempotency_key = ?2";
        let row = sql.query_optional(select, values![&self.0.scope, &self.0.key]).await?;
        row.map(|row| Ok((row.parse(0)?, row.parse(1)?))).transpose()
    }
}

pub(super) fn firing(row: &Row) -> Result<Firing, StoreError> {
    Ok(Firing {
        schedule: row.get(0)?,
        due_at: row.parse(1)?,
        node: row.parse(2)?,
        claimed_at: row.parse(3)?,
        ended_at: row.parse_optional(4)?,
        outcome: row.parse_optional(5)?,
        error: row.get(6)?,
        note: row.get(7)?,
        links: FiringLinks {
            conversation: row.parse_optional(8)?,
            message: row.parse_optional(9)?,
            run: row.parse_optional(10)?,
        },
    })
}
