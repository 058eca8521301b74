//! Schedules: their next firing, the results of past firings, and which node runs which firing. Does not parse cron
//! expressions: callers pass the next time. `foreword_core::schedule` decides how a firing affects its schedule.

mod configure;
mod firing_leases;
mod firings;

use foreword_core::id::{ConversationId, MessageId, NodeId, RunId};
use foreword_core::schedule::{FiringEnd, FiringOutcome, FiringRecord, Timing};
use foreword_core::timestamp::Timestamp;

use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::messages::IdempotencyKey;
use crate::store::Store;

pub use firing_leases::TakeFirings;

/// A stored schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSchedule {
    /// Its name in the configuration.
    pub name: String,
    /// The cron expression or interval.
    pub timing: Timing,
    /// The next firing; `None` if disabled.
    pub next_fire_at: Option<Timestamp>,
    /// The record of finished firings.
    pub record: FiringRecord,
}

/// A configured schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSchedule {
    pub name: String,
    /// The cron expression or interval.
    pub timing: Timing,
    /// The next firing.
    pub next_fire_at: Option<Timestamp>,
    /// The current time.
    pub at: Timestamp,
}

/// A request to claim a firing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimFiring {
    /// The schedule's name.
    pub schedule: String,
    /// When it was due.
    pub due_at: Timestamp,
    /// The node that claims it.
    pub node: NodeId,
    /// The next firing, which must be later.
    pub next_fire_at: Option<Timestamp>,
    /// The current time.
    pub now: Timestamp,
    /// The reason to skip it; the firing is then finished as skipped.
    pub skip: Option<String>,
}

/// A firing of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Firing {
    /// The schedule's name.
    pub schedule: String,
    /// When it was due.
    pub due_at: Timestamp,
    /// The node that runs it.
    pub node: NodeId,
    /// When it was claimed.
    pub claimed_at: Timestamp,
    /// When it finished.
    pub ended_at: Option<Timestamp>,
    /// The outcome, once finished.
    pub outcome: Option<FiringOutcome>,
    /// The error, if it failed.
    pub error: Option<String>,
    /// A note about the outcome.
    pub note: Option<String>,
    /// References to its results.
    pub links: FiringLinks,
}

/// References to the results of a firing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FiringLinks {
    /// The conversation of its message.
    pub conversation: Option<ConversationId>,
    /// The message it posted.
    pub message: Option<MessageId>,
    /// The workflow run it started.
    pub run: Option<RunId>,
}

/// The result of a firing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishFiring {
    /// The schedule's name.
    pub schedule: String,
    /// When it was due.
    pub due_at: Timestamp,
    /// The outcome.
    pub end: FiringEnd,
    /// References to its results.
    pub links: FiringLinks,
    /// The current time.
    pub now: Timestamp,
}

/// The effect of finishing a firing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedFiring {
    /// The updated schedule.
    pub schedule: StoredSchedule,
    /// Whether this was the first result. Later ones are ignored.
    pub first: bool,
}

impl Store {
    /// Stores a configured schedule. An unchanged one keeps its next firing, so that firings missed while no node was
    /// running are still due.
    pub async fn put_schedule(&self, new: NewSchedule) -> Result<StoredSchedule, StoreError> {
        self.run(configure::Put(new)).await
    }

    /// Stores all configured schedules. Disables schedules that are no longer configured; they keep their history.
    pub async fn set_schedules(&self, all: Vec<NewSchedule>, at: Timestamp) -> Result<(), StoreError> {
        self.run(configure::Set { all, at }).await
    }

    /// All schedules by name, including disabled ones.
    pub async fn schedules(&self) -> Result<Vec<StoredSchedule>, StoreError> {
        self.run(List).await
    }

    /// Moves a schedule's next firing back after a wrong clock had set it to `from`. It fires at the first of
    /// `candidates` that it has not fired at yet; if there is none, nothing changes.
    pub async fn pull_back(
        &self,
        schedule: &str,
        from: Timestamp,
        candidates: Vec<Timestamp>,
    ) -> Result<Option<Timestamp>, StoreError> {
        self.run(configure::PullBack { schedule: schedule.to_owned(), from, candidates }).await
    }

    /// Claims a firing. `None` if it is not due or was claimed before. Only one node can ever claim it.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if the next firing is not later than this one; or if there is no such schedule or the
    /// database can't be written.
    pub async fn claim_firing(&self, claim: ClaimFiring) -> Result<Option<Firing>, StoreError> {
        Ok(self.claim_firings(vec![claim]).await?.pop())
    }

    /// Claims several firings, and returns those that succeeded.
    ///
    /// # Errors
    /// As [`Store::claim_firing`]; then none of them is claimed.
    pub async fn claim_firings(&self, claims: Vec<ClaimFiring>) -> Result<Vec<Firing>, StoreError> {
        self.run(firings::Claim(claims)).await
    }

    /// Begins a firing on request, without changing the next one. `None` if the schedule has fired at exactly this
    /// time before.
    ///
    /// # Errors
    /// If there is no such schedule, or the database can't be written.
    pub async fn begin_firing(
        &self,
        schedule: &str,
        node: NodeId,
        now: Timestamp,
    ) -> Result<Option<Firing>, StoreError> {
        self.run(firings::Begin { schedule: schedule.to_owned(), node, now }).await
    }

    /// Records the result of a firing. Only the first result counts.
    ///
    /// # Errors
    /// If the firing was never claimed, or the database can't be written.
    pub async fn finish_firing(&self, finish: FinishFiring) -> Result<FinishedFiring, StoreError> {
        self.run(firings::Finish(finish)).await
    }

    /// Unfinished firings: running, or abandoned by a crashed node.
    pub async fn unfinished_firings(&self) -> Result<Vec<Firing>, StoreError> {
        self.run(firings::Unfinished).await
    }

    /// Renews the leases of `node` on these firings, each given by its schedule and due time.
    pub async fn renew_firings(
        &self,
        node: &NodeId,
        firings: Vec<(String, Timestamp)>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.run(firing_leases::Hold { node: node.clone(), firings, now }).await
    }

    /// Releases the unfinished firings of `node`, so that another node can take them over at once.
    pub async fn release_firings(&self, node: &NodeId) -> Result<(), StoreError> {
        self.run(firing_leases::Leave(node.clone())).await
    }

    /// Takes over firings whose lease has expired or was released.
    pub async fn take_firings(&self, wish: TakeFirings) -> Result<Vec<Firing>, StoreError> {
        self.run(wish).await
    }

    /// At most `limit` firings of a schedule, the newest first.
    pub async fn firings(&self, schedule: &str, limit: u32) -> Result<Vec<Firing>, StoreError> {
        self.run(firings::List { schedule: schedule.to_owned(), limit }).await
    }

    /// The newest firing of every schedule, by the schedule's name.
    pub async fn last_firings(&self) -> Result<Vec<Firing>, StoreError> {
        self.run(firings::Last).await
    }

    /// The message accepted under `key` and its conversation, if there is one.
    pub async fn message_of(
        &self,
        key: IdempotencyKey,
    ) -> Result<Option<(ConversationId, MessageId)>, StoreError> {
        self.run(firings::MessageOf(key)).await
    }
}

struct List;

impl Operation for List {
    type Output = Vec<StoredSchedule>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<StoredSchedule>, StoreError> {
        all(sql).await
    }
}

async fn all(sql: &mut Transaction<'_>) -> Result<Vec<StoredSchedule>, StoreError> {
    let select =
        "SELECT name, cron, time_zone, enabled, next_fire_at, last_due_at, last_ended_at, last_error,
            consecutive_failures
        FROM schedules ORDER BY name";
    sql.query(select, &[]).await?.iter().map(schedule).collect()
}

/// One lock for all: schedules are few and change rarely.
async fn lock(sql: &mut Transaction<'_>) -> Result<(), StoreError> {
    sql.lock("schedules").await
}

async fn get(sql: &mut Transaction<'_>, name: &str) -> Result<StoredSchedule, StoreError> {
    let missing = || StoreError::NotFound { what: "schedule", id: name.to_owned() };
    find(sql, name).await?.ok_or_else(missing)
}

async fn find(sql: &mut Transaction<'_>, name: &str) -> Result<Option<StoredSchedule>, StoreError> {
    let select =
        "SELECT name, cron, time_zone, enabled, next_fire_at, last_due_at, last_ended_at, last_error,
            consecutive_failures
        FROM schedules WHERE name = ?1";
    sql.query_optional(select, values![name]).await?.as_ref().map(schedule).transpose()
}

fn schedule(row: &Row) -> Result<StoredSchedule, StoreError> {
    Ok(StoredSchedule {
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
