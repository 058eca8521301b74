//! Stores the configured schedules and their next firing.

use std::collections::BTreeMap;

use foreword_core::timestamp::Timestamp;

use super::{NewSchedule, StoredSchedule};
use crate::changes::StoreChange;
use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;

pub(super) struct Put(pub(super) NewSchedule);

impl Operation for Put {
    type Output = StoredSchedule;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<StoredSchedule, StoreError> {
        super::lock(sql).await?;
        let before = super::find(sql, &self.0.name).await?;
        if put(sql, before.as_ref(), &self.0).await? {
            sql.announce(StoreChange::Schedules);
        }
        super::get(sql, &self.0.name).await
    }
}

/// Writes a schedule if it has changed. Returns whether it has.
async fn put(
    sql: &mut Transaction<'_>,
    before: Option<&StoredSchedule>,
    new: &NewSchedule,
) -> Result<bool, StoreError> {
    let known = before.map(|schedule| (&schedule.timing, schedule.next_fire_at));
    let next_fire_at = new.timing.next_fire(known, new.next_fire_at);
    if before.is_some_and(|old| old.timing == new.timing && old.next_fire_at == next_fire_at) {
        return Ok(false);
    }
    let timing = &new.timing;
    sql.execute(
        "INSERT INTO schedules (name, cron, time_zone, enabled, next_fire_at, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
         ON CONFLICT (name) DO UPDATE SET cron = ?2, time_zone = ?3, enabled = ?4, next_fire_at = ?5,
             updated_at = ?6",
        values![&new.name, &timing.cron, &timing.time_zone, timing.enabled, next_fire_at, new.at],
    )
    .await?;
    Ok(true)
}

pub(super) struct Set {
    pub(super) all: Vec<NewSchedule>,
    pub(super) at: Timestamp,
}

impl Operation for Set {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        super::lock(sql).await?;
        let mut before: BTreeMap<String, StoredSchedule> =
            super::all(sql).await?.into_iter().map(|schedule| (schedule.name.clone(), schedule)).collect();
        let mut changed = false;
        for new in &self.all {
            changed |= put(sql, before.remove(&new.name).as_ref(), new).await?;
        }
        for gone in before.into_values().filter(|schedule| schedule.timing.enabled) {
            let update =
                "UPDATE schedules SET enabled = 0, next_fire_at = NULL, updated_at = ?2 WHERE name = ?1";
            sql.execute(update, values![gone.name, self.at]).await?;
            changed = true;
        }
        if changed {
            sql.announce(StoreChange::Schedules);
        }
        Ok(())
    }
}

pub(super) struct PullBack {
    pub(super) schedule: String,
    pub(super) from: Timestamp,
    pub(super) candidates: Vec<Timestamp>,
}

impl Operation for PullBack {
    type Output = Option<Timestamp>;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<Timestamp>, StoreError> {
        super::lock(sql).await?;
        for &candidate in &self.candidates {
            let select = "SELECT 1 FROM schedule_firings WHERE schedule = ?1 AND due_at = ?2";
            if sql.query_optional(select, values![&self.schedule, candidate]).await?.is_some() {
                continue;
            }
            // Only if no other node has moved it meanwhile.
            let update = "UPDATE schedules SET next_fire_at = ?2
                WHERE name = ?1 AND next_fire_at = ?3 AND enabled = 1";
            let moved = sql.execute(update, values![&self.schedule, candidate, self.from]).await? > 0;
            if moved {
                sql.announce(StoreChange::Schedules);
            }
            return Ok(moved.then_some(candidate));
        }
        Ok(None)
    }
}
