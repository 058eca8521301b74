//! Stored leases: who holds a conversation or a workflow run, and whether another node may take it over. Each holder
//! gets a fencing token (`fence`) that is higher than all earlier ones, so that a former holder can't write any more.
//! [`foreword_core::lease`] decides when a lease expires.

use std::time::Duration;

use foreword_core::id::NodeId;
use foreword_core::lease::{Lease, LeaseState};
use foreword_core::timestamp::Timestamp;

use crate::engine::{Row, Transaction, Value, values};
use crate::error::StoreError;

/// A lease as stored. It may have expired.
#[derive(Debug)]
pub(crate) struct StoredLease {
    pub(crate) holder: NodeId,
    pub(crate) fence: u64,
    lease: Lease,
}

impl StoredLease {
    /// Reads the columns `holder, fence, renewed_at, millis`, which start at column `first`.
    pub(crate) fn read(row: &Row, first: usize) -> Result<Self, StoreError> {
        let duration = Duration::from_millis(row.get(first + 3)?);
        let lease = Lease { renewed_at: row.parse(first + 2)?, duration };
        Ok(Self { holder: row.parse(first)?, fence: row.get(first + 1)?, lease })
    }

    /// Whether the lease has expired at `clock`, or its holder is known to be dead. If the renewal time lies far in the
    /// future, `redate` sets it to `clock`.
    ///
    /// `redate` is an `UPDATE` with the values `?1` (`id`), `?2` (the new time), `?3` (the fence) and `?4` (the old
    /// time). It must compare fence and old time: not every caller holds the lock, and the holder may have renewed.
    pub(crate) async fn is_free(
        &self,
        sql: &mut Transaction<'_>,
        id: Value,
        redate: &'static str,
        clock: Timestamp,
    ) -> Result<bool, StoreError> {
        if sql.is_dead(&self.holder) {
            return Ok(true);
        }
        let state = self.lease.state(clock);
        if state == LeaseState::ResetRenewal {
            sql.execute(redate, values![id, clock, self.fence, self.lease.renewed_at]).await?;
        }
        Ok(state == LeaseState::Free)
    }
}

/// A lease duration as stored.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
