//! Forgetting what is old, in slices that are small enough for nobody to wait behind.

use std::time::Duration;

use foreword_core::timestamp::Timestamp;

use super::queue::Clock;
use crate::engine::{Access, Operation, Sql, values};
use crate::error::StoreError;
use crate::store::Store;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long events are kept, and how they go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionConfig {
    /// For how many days they are kept.
    pub days: u32,
    /// How many go in one transaction.
    pub slice: u64,
    /// How long writers have the database to themselves between two slices.
    pub pause: Duration,
    /// How long after the start it is first looked for old ones.
    pub first_after: Duration,
    /// How often it is looked.
    pub every: Duration,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self {
            days: 30,
            slice: 500,
            pause: Duration::from_millis(10),
            first_after: Duration::from_secs(30),
            every: Duration::from_secs(60 * 60),
        }
    }
}

impl RetentionConfig {
    /// The moment before which events are old. If the clock has jumped back, that is a moment further back, and less
    /// is pruned than could be; never more.
    #[must_use]
    pub fn cutoff(&self, now: Timestamp) -> Timestamp {
        now.minus(DAY.saturating_mul(self.days))
    }
}

/// What a slice took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pruned {
    /// How many events went.
    pub count: u64,
    /// Whether there may be more.
    pub more: bool,
}

impl Store {
    /// Deletes at most `slice` events that happened before `before`, the oldest first.
    ///
    /// # Errors
    /// If they can't be deleted.
    pub async fn prune_events(&self, before: Timestamp, slice: u64) -> Result<Pruned, StoreError> {
        self.run(Prune { before, slice }).await
    }

    /// Deletes all events that are too old at `now`, slice by slice, and says how many that were.
    ///
    /// # Errors
    /// If they can't be deleted; the slices before that are gone.
    pub async fn prune_all_events(
        &self,
        now: Timestamp,
        config: &RetentionConfig,
    ) -> Result<u64, StoreError> {
        let before = config.cutoff(now);
        let mut total = 0;
        loop {
            let pruned = self.prune_events(before, config.slice.max(1)).await?;
            total += pruned.count;
            if !pruned.more {
                return Ok(total);
            }
            tokio::time::sleep(config.pause).await;
        }
    }
}

/// Prunes now and then, for as long as it is not aborted.
pub(super) async fn keep_pruned(store: Store, clock: Clock, config: RetentionConfig) {
    tokio::time::sleep(config.first_after).await;
    loop {
        // What failed now is tried again next time; the events wait.
        let _ = store.prune_all_events(clock(), &config).await;
        let _ = store.forget_requests(config.cutoff(clock())).await;
        let _ = store.forget_proxied(config.cutoff(clock())).await;
        tokio::time::sleep(config.every).await;
    }
}

struct Prune {
    before: Timestamp,
    slice: u64,
}

impl Operation for Prune {
    type Output = Pruned;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Pruned, StoreError> {
        // Two nodes that prune at once would choose the same events, and one of them would think it is done.
        sql.lock("events-retention").await?;
        let select = "SELECT timestamp, id FROM events WHERE timestamp < ?1 ORDER BY timestamp, id LIMIT ?2";
        let old = sql.query(select, values![self.before, self.slice]).await?;
        let (Some(first), Some(last)) = (old.first(), old.last()) else {
            return Ok(Pruned { count: 0, more: false });
        };
        // A range of time from both sides, because that is what Postgres takes for few rows without knowing the values.
        let delete = "DELETE FROM events
             WHERE timestamp >= ?1 AND timestamp <= ?2 AND (timestamp < ?2 OR id <= ?3)";
        let (from, to): (String, String) = (first.get(0)?, last.get(0)?);
        let count = sql.execute(delete, values![from, to, last.get::<i64>(1)?]).await?;
        Ok(Pruned { count, more: old.len() as u64 >= self.slice })
    }
}
