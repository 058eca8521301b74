//! Prunes old events in small batches, so that writers don't wait long.

use std::time::Duration;

use foreword_core::timestamp::Timestamp;

use super::queue::Clock;
use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;
use crate::store::Store;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The retention policy of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionConfig {
    /// The number of days to keep events.
    pub days: u32,
    /// The number of events deleted per transaction.
    pub slice: u64,
    /// The pause between two batches.
    pub pause: Duration,
    /// The delay before the first run.
    pub first_after: Duration,
    /// The interval between runs.
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
    /// Events before this time are expired. If the clock has jumped back, fewer events are pruned, never more.
    #[must_use]
    pub fn cutoff(&self, now: Timestamp) -> Timestamp {
        now.minus(DAY.saturating_mul(self.days))
    }
}

/// The result of one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pruned {
    /// The number of deleted events.
    pub count: u64,
    /// Whether there may be more.
    pub more: bool,
}

impl Store {
    /// Deletes at most `slice` events from before `before`, the oldest first.
    pub async fn prune_events(&self, before: Timestamp, slice: u64) -> Result<Pruned, StoreError> {
        self.run(Prune { before, slice }).await
    }

    /// Deletes all expired events in batches. Returns how many.
    ///
    /// # Errors
    /// If the database can't be written; earlier batches stay deleted.
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

/// Prunes at each interval until aborted.
pub(super) async fn keep_pruned(store: Store, clock: Clock, config: RetentionConfig) {
    tokio::time::sleep(config.first_after).await;
    loop {
        // The next run retries after a failure.
        let _ = store.prune_all_events(clock(), &config).await;
        let _ = store.prune_requests(config.cutoff(clock())).await;
        let _ = store.prune_proxied(config.cutoff(clock())).await;
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

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Pruned, StoreError> {
        // Two nodes that prune at once would select the same events, and one would wrongly conclude that it is done.
        sql.lock("events-retention").await?;
        let select = "SELECT timestamp, id FROM events WHERE timestamp < ?1 ORDER BY timestamp, id LIMIT ?2";
        let old = sql.query(select, values![self.before, self.slice]).await?;
        let (Some(first), Some(last)) = (old.first(), old.last()) else {
            return Ok(Pruned { count: 0, more: false });
        };
        // A range with two bounds, for which Postgres estimates few rows without knowing the values.
        let delete = "DELETE FROM events
             WHERE timestamp >= ?1 AND timestamp <= ?2 AND (timestamp < ?2 OR id <= ?3)";
        let (from, to): (String, String) = (first.get(0)?, last.get(0)?);
        let count = sql.execute(delete, values![from, to, last.get::<i64>(1)?]).await?;
        Ok(Pruned { count, more: old.len() as u64 >= self.slice })
    }
}
