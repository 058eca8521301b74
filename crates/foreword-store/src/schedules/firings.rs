//! Firings: each claimed once, by one node, and ended once.

use foreword_core::timestamp::Timestamp;

use super::{ClaimFiring, Firing, Schedule};
use crate::changes::Change;
use crate::engine::{Access, Operation, Row, Sql, values};
use crate::error::StoreError;

pub(super) struct Claim(pub(super) ClaimFiring);

impl Operation for Claim {
    type Output = Option<Firing>;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Option<Firing>, StoreError> {
        let claim = &self.0;
        if let Some(next) = claim.next_fire_at.filter(|next| *next <= claim.due_at) {
            let reason = format!("the next firing, {next}, is not after this one, {}", claim.due_at);
            return Err(StoreError::Refused { what: "schedule", id: claim.schedule.clone(), reason });
        }
        super::lock(sql).await?;
        let schedule = super::get(sql, &claim.schedule).await?;
        if !schedule.timing.enabled || schedule.next_fire_at != Some(claim.due_at) {
            return Ok(None);
        }
        // Moved on even if somebody had this firing before: else it would be due for ever.
        let update = "UPDATE schedules SET next_fire_at = ?2 WHERE name = ?1";
        sql.execute(update, values![&claim.schedule, claim.next_fire_at]).await?;
        let insert =
            "INSERT INTO schedule_firings (schedule, due_at, node, claimed_at) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (schedule, due_at) DO NOTHING";
        let values = values![&claim.schedule, claim.due_at, &claim.node, claim.now];
        let claimed = sql.execute(insert, values).await? > 0;
        sql.announce(Change::Schedules).await?;
        Ok(claimed.then(|| Firing {
            schedule: claim.schedule.clone(),
            due_at: claim.due_at,
            node: claim.node.clone(),
            claimed_at: claim.now,
            ended_at: None,
            error: None,
        }))
    }
}

pub(super) struct Finish {
    pub(super) schedule: String,
    pub(super) due_at: Timestamp,
    pub(super) error: Option<String>,
    pub(super) now: Timestamp,
}

impl Operation for Finish {
    type Output = Schedule;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Schedule, StoreError> {
        super::lock(sql).await?;
        let select = "SELECT ended_at FROM schedule_firings WHERE schedule = ?1 AND due_at = ?2";
        let Some(row) = sql.query_optional(select, values![&self.schedule, self.due_at]).await? else {
            let id = format!("{} at {}", self.schedule, self.due_at);
            return Err(StoreError::NotFound { what: "firing", id });
        };
        let schedule = super::get(sql, &self.schedule).await?;
        if row.parse_optional::<Timestamp>(0)?.is_some() {
            return Ok(schedule);
        }
        let error = self.error.as_deref();
        let end = "UPDATE schedule_firings SET ended_at = ?3, error = ?4 WHERE schedule = ?1 AND due_at = ?2";
        sql.execute(end, values![&self.schedule, self.due_at, self.now, error]).await?;
        let record = schedule.record.after(self.due_at, self.now, self.error.clone());
        let update = "UPDATE schedules SET last_due_at = ?2, last_ended_at = ?3, last_error = ?4,
                consecutive_failures = ?5
            WHERE name = ?1";
        let values = values![
            &self.schedule,
            record.last_due_at,
            record.last_ended_at,
            record.last_error.as_deref(),
            record.consecutive_failures,
        ];
        sql.execute(update, values).await?;
        sql.announce(Change::Schedules).await?;
        Ok(Schedule { record, ..schedule })
    }
}

pub(super) struct Unfinished(pub(super) Timestamp);

impl Operation for Unfinished {
    type Output = Vec<Firing>;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Vec<Firing>, StoreError> {
        let select = "SELECT schedule, due_at, node, claimed_at, ended_at, error FROM schedule_firings
            WHERE ended_at IS NULL AND claimed_at <= ?1 ORDER BY claimed_at, schedule, due_at";
        sql.query(select, values![self.0]).await?.iter().map(firing).collect()
    }
}

pub(super) struct List {
    pub(super) schedule: String,
    pub(super) limit: u32,
}

impl Operation for List {
    type Output = Vec<Firing>;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Vec<Firing>, StoreError> {
        let select = "SELECT schedule, due_at, node, claimed_at, ended_at, error FROM schedule_firings
            WHERE schedule = ?1 ORDER BY due_at DESC LIMIT ?2";
        sql.query(select, values![&self.schedule, self.limit]).await?.iter().map(firing).collect()
    }
}

fn firing(row: &Row) -> Result<Firing, StoreError> {
    Ok(Firing {
        schedule: row.get(0)?,
        due_at: row.parse(1)?,
        node: row.parse(2)?,
        claimed_at: row.parse(3)?,
        ended_at: row.parse_optional(4)?,
        error: row.get(5)?,
    })
}
