//! The health of the store, as its callers see it. Kept in memory, so that failures are visible while the database is
//! down.
//!
//! Every operation that fails because of the database is counted by [`StoreFault`]. The store is down until
//! [`Store::probe`] succeeds. A damaged file stays reported until the process ends.

use std::sync::atomic::{AtomicU64, Ordering};

use foreword_core::id::NodeId;
use foreword_core::timestamp::Timestamp;
use parking_lot::Mutex;
use tokio::sync::broadcast;

use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;
use crate::store::Store;

/// The capacity of the broadcast channel for a slow subscriber.
const CHANGES_CAPACITY: usize = 64;
/// How many bytes a probe writes: a disk without room for a message counts as full.
const PROBE_BYTES: usize = 16 << 10;

/// A fault of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFault {
    /// The disk is full.
    Full,
    /// The database is read-only.
    ReadOnly,
    /// It can't be opened or reached, or its file was deleted.
    Unreachable,
    /// The connection was lost.
    Disconnected,
    /// Another process locks it.
    Locked,
    /// The file is damaged.
    Corrupt,
    /// A record does not match its hash.
    Damaged,
    /// The engine reports another error.
    Engine,
}

impl StoreFault {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Full,
        Self::ReadOnly,
        Self::Unreachable,
        Self::Disconnected,
        Self::Locked,
        Self::Corrupt,
        Self::Damaged,
        Self::Engine,
    ];

    /// The fault behind an error; `None` if the request caused the error.
    #[must_use]
    pub fn of(error: &StoreError) -> Option<Self> {
        Some(match error {
            StoreError::Full { .. } => Self::Full,
            StoreError::ReadOnly { .. } => Self::ReadOnly,
            StoreError::Unreachable { .. }
            | StoreError::Foreign { .. }
            | StoreError::NewerSchema { .. }
            | StoreError::NoBackup { .. } => Self::Unreachable,
            StoreError::Disconnected { .. } | StoreError::Uncertain { .. } => Self::Disconnected,
            StoreError::Locked { .. } => Self::Locked,
            StoreError::Corrupt { .. } => Self::Corrupt,
            StoreError::Damaged { .. } | StoreError::Unreadable { .. } => Self::Damaged,
            StoreError::Engine { .. } => Self::Engine,
            StoreError::Location(_)
            | StoreError::NotFound { .. }
            | StoreError::VersionConflict { .. }
            | StoreError::LayerRefused(_)
            | StoreError::LeaseLost { .. }
            | StoreError::UsedBefore { .. }
            | StoreError::Refused { .. }
            | StoreError::Taken { .. }
            | StoreError::Exists { .. }
            | StoreError::NotEmpty { .. }
            | StoreError::ZeroByte => return None,
        })
    }

    /// Its name in metrics and events.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::ReadOnly => "read_only",
            Self::Unreachable => "unreachable",
            Self::Disconnected => "disconnected",
            Self::Locked => "locked",
            Self::Corrupt => "corrupt",
            Self::Damaged => "damaged",
            Self::Engine => "engine",
        }
    }

    /// Whether it lasts until the database is replaced: no later write can clear it.
    #[must_use]
    pub fn is_lasting(self) -> bool {
        matches!(self, Self::Corrupt | Self::Damaged)
    }
}

/// A failure of the database.
#[derive(Debug, Clone)]
pub struct StoreFailure {
    /// The kind of fault.
    pub fault: StoreFault,
    /// The error, for the owner.
    pub error: StoreError,
}

/// A change of the store's health.
#[derive(Debug, Clone)]
pub enum HealthChange {
    /// A new fault has occurred.
    Failed(StoreFailure),
    /// Writes succeed again.
    Recovered,
}

/// The health of a store.
#[derive(Debug)]
pub struct Health {
    /// The uncleared failures, one per fault, in order of occurrence.
    failures: Mutex<Vec<StoreFailure>>,
    counts: [AtomicU64; StoreFault::ALL.len()],
    changes: broadcast::Sender<HealthChange>,
}

impl Default for Health {
    fn default() -> Self {
        let changes = broadcast::Sender::new(CHANGES_CAPACITY);
        Self { failures: Mutex::default(), counts: Default::default(), changes }
    }
}

impl Health {
    /// The current failures, one per fault.
    #[must_use]
    pub fn failures(&self) -> Vec<StoreFailure> {
        self.failures.lock().clone()
    }

    /// Whether operations are expected to succeed, except those on single damaged records.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.failures.lock().iter().all(|failure| failure.fault == StoreFault::Damaged)
    }

    /// The number of failed operations since the start, by fault.
    #[must_use]
    pub fn counts(&self) -> [(StoreFault, u64); StoreFault::ALL.len()] {
        StoreFault::ALL.map(|fault| (fault, self.counts[fault as usize].load(Ordering::Relaxed)))
    }

    /// Subscribes to changes.
    #[must_use]
    pub fn changes(&self) -> broadcast::Receiver<HealthChange> {
        self.changes.subscribe()
    }

    /// Counts a failed operation if the database is the cause.
    pub(crate) fn note(&self, error: &StoreError) {
        let Some(fault) = StoreFault::of(error) else { return };
        self.counts[fault as usize].fetch_add(1, Ordering::Relaxed);
        let mut failures = self.failures.lock();
        if failures.iter().all(|known| known.fault != fault) {
            let failure = StoreFailure { fault, error: error.clone() };
            failures.push(failure.clone());
            // There may be no subscribers.
            let _ = self.changes.send(HealthChange::Failed(failure));
        }
    }

    fn note_written(&self) {
        let mut failures = self.failures.lock();
        let before = failures.len();
        failures.retain(|failure| failure.fault.is_lasting());
        if failures.len() < before {
            let _ = self.changes.send(HealthChange::Recovered);
        }
    }
}

impl Store {
    /// Writes a row durably and deletes it again. Success clears all faults except damage.
    pub async fn probe(&self, node: &NodeId, now: Timestamp) -> Result<(), StoreError> {
        self.run(Probe { row: format!("probe-of-{node}"), now }).await?;
        self.health().note_written();
        Ok(())
    }
}

struct Probe {
    row: String,
    now: Timestamp,
}

impl Operation for Probe {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        // In one transaction: the row is never visible, but its pages are written.
        let insert =
            "INSERT INTO nodes (node, version, listen, started_at, seen_at) VALUES (?1, '', ?2, ?3, ?3)
            ON CONFLICT (node) DO UPDATE SET listen = ?2";
        sql.execute(insert, values![&*self.row, "x".repeat(PROBE_BYTES), self.now]).await?;
        sql.execute("DELETE FROM nodes WHERE node = ?1", values![&*self.row]).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> StoreError {
        StoreError::Full { place: "foreword.db".to_owned() }
    }

    fn corrupt() -> StoreError {
        StoreError::Corrupt { place: "foreword.db".to_owned(), reason: "malformed".to_owned() }
    }

    fn counted(health: &Health, fault: StoreFault) -> u64 {
        health.counts()[fault as usize].1
    }

    #[test]
    fn faults_are_counted_separately() {
        for (index, fault) in StoreFault::ALL.into_iter().enumerate() {
            assert_eq!(fault as usize, index);
        }
    }

    #[test]
    fn failure_is_announced_once_until_a_write_succeeds() {
        let health = Health::default();
        let mut changes = health.changes();
        health.note(&full());
        health.note(&full());
        assert_eq!(counted(&health, StoreFault::Full), 2);
        assert!(
            matches!(changes.try_recv(), Ok(HealthChange::Failed(failure)) if failure.fault == StoreFault::Full)
        );
        assert!(changes.try_recv().is_err());
        health.note_written();
        assert!(matches!(changes.try_recv(), Ok(HealthChange::Recovered)) && health.is_up());
        health.note_written();
        assert!(changes.try_recv().is_err());
    }

    #[test]
    fn damage_persists_and_hides_no_other_fault() {
        let health = Health::default();
        let mut changes = health.changes();
        health.note(&corrupt());
        health.note(&full());
        let faults = || health.failures().iter().map(|failure| failure.fault).collect::<Vec<_>>();
        assert_eq!(faults(), [StoreFault::Corrupt, StoreFault::Full]);
        assert!(changes.try_recv().is_ok() && changes.try_recv().is_ok());
        health.note_written();
        assert_eq!(faults(), [StoreFault::Corrupt]);
        assert!(!health.is_up());
    }

    #[test]
    fn invalid_requests_are_not_store_faults() {
        let health = Health::default();
        health.note(&StoreError::ZeroByte);
        health.note(&StoreError::NotFound { what: "turn", id: "t-1".to_owned() });
        assert!(health.is_up() && health.failures().is_empty());
    }
}
