//! What runs by the clock: when each schedule fires next, what became of its last firing, and which node has which
//! firing. Reads no cron text: when something is due next comes in. What a firing does to its schedule is decided in
//! `foreword_core::schedule`.

mod firings;

use std::collections::BTreeSet;

use foreword_core::id::NodeId;
use foreword_core::schedule::{FiringRecord, Timing};
use foreword_core::timestamp::Timestamp;

use crate::changes::Change;
use crate::engine::{Access, Operation, Row, Sql, values};
use crate::error::StoreError;
use crate::store::Store;

/// A schedule as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// Its name in the configuration.
    pub name: String,
    /// When it fires.
    pub timing: Timing,
    /// When it fires next; never, if it is not enabled.
    pub next_fire_at: Option<Timestamp>,
    /// What became of those that have ended.
    pub record: FiringRecord,
}

/// What a configuration says about a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSchedule {
    /// Its name.
    pub name: String,
    /// When it fires.
    pub timing: Timing,
    /// When that is next, from now on.
    pub next_fire_at: Option<Timestamp>,
    /// When that was said.
    pub at: Timestamp,
}

/// A wish to do what a schedule says, for one time that it was due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimFiring {
    /// Which schedule.
    pub schedule: String,
    /// When it was due.
    pub due_at: Timestamp,
    /// Who wants to do it.
    pub node: NodeId,
    /// When it is due after that; it has to be later.
    pub next_fire_at: Option<Timestamp>,
    /// When.
    pub now: Timestamp,
}

/// One firing of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Firing {
    /// Which schedule.
    pub schedule: String,
    /// When it was due.
    pub due_at: Timestamp,
    /// The node that has it.
    pub node: NodeId,
    /// Since when.
    pub claimed_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

impl Store {
    /// Stores what the configuration says about a schedule. One that has not changed keeps its next firing, so that
    /// nothing that was missed while no node was there is forgotten.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn put_schedule(&self, new: NewSchedule) -> Result<Schedule, StoreError> {
        self.run(Put(new)).await
    }

    /// Disables all schedules but these, and keeps their history: the others are no longer configured.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn keep_schedules(&self, names: BTreeSet<String>, at: Timestamp) -> Result<(), StoreError> {
        self.run(Keep { names, at }).await
    }

    /// All schedules by name, those that are not enabled too.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn schedules(&self) -> Result<Vec<Schedule>, StoreError> {
        self.run(List).await
    }

    /// The schedules that are due at `now`, the longest due first.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn due_schedules(&self, now: Timestamp) -> Result<Vec<Schedule>, StoreError> {
        self.run(Due(now)).await
    }

    /// Claims a firing. `None` if it is not due (any more), or another node has it: of all who try, one gets it, once
    /// and for ever.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if the next firing is not later than this one, if there is no such schedule, or if it
    /// can't be written.
    pub async fn claim_firing(&self, claim: ClaimFiring) -> Result<Option<Firing>, StoreError> {
        self.run(firings::Claim(claim)).await
    }

    /// Notes that a firing has ended, well or with an error. The first word on it stands.
    ///
    /// # Errors
    /// If nobody has claimed it, or it can't be written.
    pub async fn finish_firing(
        &self,
        schedule: &str,
        due_at: Timestamp,
        result: Result<(), String>,
        now: Timestamp,
    ) -> Result<Schedule, StoreError> {
        let schedule = schedule.to_owned();
        self.run(firings::Finish { schedule, due_at, error: result.err(), now }).await
    }

    /// Firings that were claimed at `before` or earlier and have not ended: their nodes have died, or still work.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn unfinished_firings(&self, before: Timestamp) -> Result<Vec<Firing>, StoreError> {
        self.run(firings::Unfinished(before)).await
    }

    /// The last firings of a schedule, at most `limit`, the newest first.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn firings(&self, schedule: &str, limit: u32) -> Result<Vec<Firing>, StoreError> {
        self.run(firings::List { schedule: schedule.to_owned(), limit }).await
    }
}

struct Put(NewSchedule);

impl Operation for Put {
    type Output = Schedule;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Schedule, StoreError> {
        let new = &self.0;
        lock(sql).await?;
        let before = find(sql, &new.name).await?;
        let known = before.as_ref().map(|schedule| (&schedule.timing, schedule.next_fire_at));
        let next_fire_at = new.timing.next_fire(known, new.next_fire_at);
        if let Some(same) = before.filter(|old| old.timing == new.timing && old.next_fire_at == next_fire_at)
        {
            return Ok(same);
        }
        sql.execute(
            "INSERT INTO schedules (name, cron, time_zone, enabled, next_fire_at, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
             ON CONFLICT (name) DO UPDATE SET cron = ?2, time_zone = ?3, enabled = ?4, next_fire_at = ?5,
                 updated_at = ?6",
            values![
                &new.name,
                &new.timing.cron,
                &new.timing.time_zone,
                new.timing.enabled,
                next_fire_at,
                new.at
            ],
        )
        .await?;
        sql.announce(Change::Schedules).await?;
        get(sql, &new.name).await
    }
}

struct Keep {
    names: BTreeSet<String>,
    at: Timestamp,
}

impl Operation for Keep {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<(), StoreError> {
        lock(sql).await?;
        let mut changed = false;
        for row in sql.query("SELECT name FROM schedules WHERE enabled = 1 ORDER BY name", &[]).await? {
            let name: String = row.get(0)?;
            if !self.names.contains(&name) {
                let update = "UPDATE schedules SET enabled = 0, next_fire_at = NULL, updated_at = ?2
                    WHERE name = ?1";
                sql.execute(update, values![name, self.at]).await?;
                changed = true;
            }
        }
        if changed {
            sql.announce(Change::Schedules).await?;
        }
        Ok(())
    }
}

struct List;

impl Operation for List {
    type Output = Vec<Schedule>;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Vec<Schedule>, StoreError> {
        let select =
            "SELECT name, cron, time_zone, enabled, next_fire_at, last_due_at, last_ended_at, last_error,
                consecutive_failures
            FROM schedules ORDER BY name";
        sql.query(select, &[]).await?.iter().map(schedule).collect()
    }
}

struct Due(Timestamp);

impl Operation for Due {
    type Output = Vec<Schedule>;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Vec<Schedule>, StoreError> {
        let clock = sql.clock(self.0).await?;
        let select =
            "SELECT name, cron, time_zone, enabled, next_fire_at, last_due_at, last_ended_at, last_error,
                consecutive_failures
            FROM schedules WHERE enabled = 1 AND next_fire_at <= ?1 ORDER BY next_fire_at, name";
        sql.query(select, values![clock]).await?.iter().map(schedule).collect()
    }
}

/// One at a time: there are few schedules, and each is touched rarely.
async fn lock<S: Sql>(sql: &mut S) -> Result<(), StoreError> {
    sql.lock("schedules").await
}

async fn get<S: Sql>(sql: &mut S, name: &str) -> Result<Schedule, StoreError> {
    let missing = || StoreError::NotFound { what: "schedule", id: name.to_owned() };
    find(sql, name).await?.ok_or_else(missing)
}

async fn find<S: Sql>(sql: &mut S, name: &str) -> Result<Option<Schedule>, StoreError> {
    let select =
        "SELECT name, cron, time_zone, enabled, next_fire_at, last_due_at, last_ended_at, last_error,
            consecutive_failures
        FROM schedules WHERE name = ?1";
    sql.query_optional(select, values![name]).await?.as_ref().map(schedule).transpose()
}

fn schedule(row: &Row) -> Result<Schedule, StoreError> {
    Ok(Schedule {
        name: row.get(0)?,
        timing: Timing { cron: row.get(1)?, time_zone: row.get(2)?, enabled: row.get(3)? },
        next_fire_at: row.parse_optional(4)?,
        record: FiringRecord {
            last_due_at: row.parse_optional(5)?,
            last_ended_at: row.parse_optional(6)?,
            last_error: row.get(7)?,
            consecutive_failures: row.get(8)?,
        },
    })
}
