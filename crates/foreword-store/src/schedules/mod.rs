//! What runs by the clock: when each schedule fires next, what became of its last firing, and which node has which
//! firing. Reads no cron text: when something is due next comes in. What a firing does to its schedule is decided in
//! `foreword_core::schedule`.

mod configure;
mod firings;
mod holding;

use foreword_core::id::{ConversationId, MessageId, NodeId, RunId};
use foreword_core::schedule::{Ended, FiringOutcome, FiringRecord, Timing};
use foreword_core::timestamp::Timestamp;

use crate::engine::{Access, Operation, Row, Sql, values};
use crate::error::StoreError;
use crate::messages::IdempotencyKey;
use crate::store::Store;

pub use holding::TakeFirings;

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
    /// Why it is not to be done: then it has ended, as skipped.
    pub skip: Option<String>,
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
    /// What came of it, once it has ended.
    pub outcome: Option<FiringOutcome>,
    /// Why it failed, if it did.
    pub error: Option<String>,
    /// What else there is to say about it.
    pub note: Option<String>,
    /// Where it happened.
    pub place: FiringPlace,
}

/// Where to find what a firing did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FiringPlace {
    /// The conversation it spoke in.
    pub conversation: Option<ConversationId>,
    /// What it said there.
    pub message: Option<MessageId>,
    /// The workflow's run.
    pub run: Option<RunId>,
}

/// The end of a firing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishFiring {
    /// Which schedule.
    pub schedule: String,
    /// When it was due.
    pub due_at: Timestamp,
    /// What came of it.
    pub end: Ended,
    /// Where.
    pub place: FiringPlace,
    /// When.
    pub now: Timestamp,
}

/// What came of a firing's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The schedule, as it stands.
    pub schedule: Schedule,
    /// Whether this was the first word on it. Only that one counts.
    pub first: bool,
}

impl Store {
    /// Stores what the configuration says about a schedule. One that has not changed keeps its next firing, so that
    /// nothing that was missed while no node was there is forgotten.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn put_schedule(&self, new: NewSchedule) -> Result<Schedule, StoreError> {
        self.run(configure::Put(new)).await
    }

    /// Stores everything the configuration says about schedules. Those that it no longer names are disabled and keep
    /// their history.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn set_schedules(&self, all: Vec<NewSchedule>, at: Timestamp) -> Result<(), StoreError> {
        self.run(configure::Set { all, at }).await
    }

    /// All schedules by name, those that are not enabled too.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn schedules(&self) -> Result<Vec<Schedule>, StoreError> {
        self.run(List).await
    }

    /// Lets a schedule fire earlier than it is said to: `from` was written while a clock was wrong. It fires at the
    /// first of `candidates` that it has not fired at before; if it has at all of them, nothing changes.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn pull_back(
        &self,
        schedule: &str,
        from: Timestamp,
        candidates: Vec<Timestamp>,
    ) -> Result<Option<Timestamp>, StoreError> {
        self.run(configure::PullBack { schedule: schedule.to_owned(), from, candidates }).await
    }

    /// Claims a firing. `None` if it is not due (any more), or another node has it: of all who try, one gets it, once
    /// and for ever.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if the next firing is not later than this one, if there is no such schedule, or if it
    /// can't be written.
    pub async fn claim_firing(&self, claim: ClaimFiring) -> Result<Option<Firing>, StoreError> {
        Ok(self.claim_firings(vec![claim]).await?.pop())
    }

    /// Claims many at once; gives those that were got.
    ///
    /// # Errors
    /// As [`Store::claim_firing`]; then none of them is claimed.
    pub async fn claim_firings(&self, claims: Vec<ClaimFiring>) -> Result<Vec<Firing>, StoreError> {
        self.run(firings::Claim(claims)).await
    }

    /// Begins a firing that somebody asked for, whenever the next one is due: that stays as it is. `None` if the
    /// schedule has fired at that very moment before.
    ///
    /// # Errors
    /// If there is no such schedule, or it can't be written.
    pub async fn begin_firing(
        &self,
        schedule: &str,
        node: NodeId,
        now: Timestamp,
    ) -> Result<Option<Firing>, StoreError> {
        self.run(firings::Begin { schedule: schedule.to_owned(), node, now }).await
    }

    /// Notes that a firing has ended. The first word on it stands.
    ///
    /// # Errors
    /// If nobody has claimed it, or it can't be written.
    pub async fn finish_firing(&self, finish: FinishFiring) -> Result<Finished, StoreError> {
        self.run(firings::Finish(finish)).await
    }

    /// Firings that have not ended: somebody is at them, or has died over them.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn unfinished_firings(&self) -> Result<Vec<Firing>, StoreError> {
        self.run(firings::Unfinished).await
    }

    /// Says that `node` is still at these of its firings, each known by its schedule and when it was due.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn hold_firings(
        &self,
        node: &NodeId,
        firings: Vec<(String, Timestamp)>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.run(holding::Hold { node: node.clone(), firings, now }).await
    }

    /// Gives up the firings of `node` that have not ended: anybody may take them over at once.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn leave_firings(&self, node: &NodeId) -> Result<(), StoreError> {
        self.run(holding::Leave(node.clone())).await
    }

    /// Takes over firings whose node has been silent for too long, or has given them up.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn take_firings(&self, wish: TakeFirings) -> Result<Vec<Firing>, StoreError> {
        self.run(wish).await
    }

    /// The last firings of a schedule, at most `limit`, the newest first.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn firings(&self, schedule: &str, limit: u32) -> Result<Vec<Firing>, StoreError> {
        self.run(firings::List { schedule: schedule.to_owned(), limit }).await
    }

    /// The newest firing of every schedule that has fired, by the schedule's name.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn last_firings(&self) -> Result<Vec<Firing>, StoreError> {
        self.run(firings::Last).await
    }

    /// The message that was taken in under `key`, if one was, and the conversation it is in.
    ///
    /// # Errors
    /// If it can't be read.
    pub async fn message_of(
        &self,
        key: IdempotencyKey,
    ) -> Result<Option<(ConversationId, MessageId)>, StoreError> {
        self.run(firings::MessageOf(key)).await
    }
}

struct List;

impl Operation for List {
    type Output = Vec<Schedule>;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Vec<Schedule>, StoreError> {
        all(sql).await
    }
}

async fn all<S: Sql>(sql: &mut S) -> Result<Vec<Schedule>, StoreError> {
    let select =
        "SELECT name, cron, time_zone, enabled, next_fire_at, last_due_at, last_ended_at, last_error,
            consecutive_failures
        FROM schedules ORDER BY name";
    sql.query(select, &[]).await?.iter().map(schedule).collect()
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
