//! Whether the store works, as its callers see it. Kept in memory, so that a failure is visible while the database is not.
//!
//! Every operation that fails for a reason of the database's is counted by its [`Fault`]. The store counts as failing
//! until [`Store::probe`] has written something again; a damaged file stays damaged for the life of the process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use foreword_core::id::NodeId;
use foreword_core::timestamp::Timestamp;
use tokio::sync::broadcast;

use crate::engine::{Access, Operation, Sql, values};
use crate::error::StoreError;
use crate::store::Store;

/// How many changes are kept for a listener that is slow.
const CHANGES_CAPACITY: usize = 64;
/// How much a probe writes: a disk with room for less than a message is full.
const PROBE_BYTES: usize = 16 << 10;

/// What is wrong with a database, whatever was asked of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// There is no room.
    Full,
    /// It may not be written.
    ReadOnly,
    /// It can't be opened or reached, or its file was deleted.
    Unreachable,
    /// The connection was lost.
    Disconnected,
    /// Another process holds it.
    Locked,
    /// The file is damaged.
    Corrupt,
    /// A record is not what was stored.
    Damaged,
    /// The engine reports another error.
    Engine,
}

impl Fault {
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

    /// The fault an error stands for; `None` if the error is about what was asked.
    #[must_use]
    pub fn of(error: &StoreError) -> Option<Self> {
        Some(match error {
            StoreError::Full { .. } => Self::Full,
            StoreError::ReadOnly { .. } => Self::ReadOnly,
            StoreError::Unreachable { .. } | StoreError::Foreign { .. } | StoreError::NewerSchema { .. } => {
                Self::Unreachable
            }
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

    /// The word for it in metrics and events.
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

    /// Whether it stays until the database is replaced: no later write can show that it is gone.
    #[must_use]
    pub fn is_lasting(self) -> bool {
        matches!(self, Self::Corrupt | Self::Damaged)
    }
}

/// A failure of the database's.
#[derive(Debug, Clone)]
pub struct Failure {
    /// What sort.
    pub fault: Fault,
    /// What the database said; for the owner.
    pub error: StoreError,
}

/// A change of the store's health.
#[derive(Debug, Clone)]
pub enum HealthChange {
    /// It fails for a reason that is new.
    Failed(Failure),
    /// It can be written again.
    Recovered,
}

/// Whether a store works.
#[derive(Debug)]
pub struct Health {
    /// One for each fault that was seen and is not known to be gone, in the order they came.
    failures: Mutex<Vec<Failure>>,
    counts: [AtomicU64; Fault::ALL.len()],
    changes: broadcast::Sender<HealthChange>,
}

impl Default for Health {
    fn default() -> Self {
        let changes = broadcast::Sender::new(CHANGES_CAPACITY);
        Self { failures: Mutex::default(), counts: Default::default(), changes }
    }
}

impl Health {
    /// Why the store fails, if it does: each fault once.
    #[must_use]
    pub fn failures(&self) -> Vec<Failure> {
        self.state().clone()
    }

    /// Whether every operation can be expected to succeed, but for those on single damaged records.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.state().iter().all(|failure| failure.fault == Fault::Damaged)
    }

    /// How many operations have failed since the start, by fault.
    #[must_use]
    pub fn counts(&self) -> [(Fault, u64); Fault::ALL.len()] {
        Fault::ALL.map(|fault| (fault, self.counts[fault as usize].load(Ordering::Relaxed)))
    }

    /// What changes from now on.
    #[must_use]
    pub fn changes(&self) -> broadcast::Receiver<HealthChange> {
        self.changes.subscribe()
    }

    /// Counts a failed operation, if the database is the reason.
    pub(crate) fn note(&self, error: &StoreError) {
        let Some(fault) = Fault::of(error) else { return };
        self.counts[fault as usize].fetch_add(1, Ordering::Relaxed);
        let mut failures = self.state();
        if failures.iter().all(|known| known.fault != fault) {
            let failure = Failure { fault, error: error.clone() };
            failures.push(failure.clone());
            // Nobody has to listen.
            let _ = self.changes.send(HealthChange::Failed(failure));
        }
    }

    fn note_written(&self) {
        let mut failures = self.state();
        let before = failures.len();
        failures.retain(|failure| failure.fault.is_lasting());
        if failures.len() < before {
            let _ = self.changes.send(HealthChange::Recovered);
        }
    }

    fn state(&self) -> MutexGuard<'_, Vec<Failure>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Writes something durable and removes it again. A store that failed and now takes this works again, unless it is
    /// damaged.
    ///
    /// # Errors
    /// If it can't be written.
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

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<(), StoreError> {
        // Within one transaction: nobody ever sees the row, but its pages are written.
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

    fn counted(health: &Health, fault: Fault) -> u64 {
        health.counts()[fault as usize].1
    }

    #[test]
    fn each_fault_is_counted_in_its_own_place() {
        for (index, fault) in Fault::ALL.into_iter().enumerate() {
            assert_eq!(fault as usize, index);
        }
    }

    #[test]
    fn a_failure_is_announced_once_until_a_write_succeeds() {
        let health = Health::default();
        let mut changes = health.changes();
        health.note(&full());
        health.note(&full());
        assert_eq!(counted(&health, Fault::Full), 2);
        assert!(
            matches!(changes.try_recv(), Ok(HealthChange::Failed(failure)) if failure.fault == Fault::Full)
        );
        assert!(changes.try_recv().is_err());
        health.note_written();
        assert!(matches!(changes.try_recv(), Ok(HealthChange::Recovered)) && health.is_up());
        health.note_written();
        assert!(changes.try_recv().is_err());
    }

    #[test]
    fn a_damaged_file_stays_damaged_and_hides_no_other_fault() {
        let health = Health::default();
        let mut changes = health.changes();
        health.note(&corrupt());
        health.note(&full());
        let faults = || health.failures().iter().map(|failure| failure.fault).collect::<Vec<_>>();
        assert_eq!(faults(), [Fault::Corrupt, Fault::Full]);
        assert!(changes.try_recv().is_ok() && changes.try_recv().is_ok());
        health.note_written();
        assert_eq!(faults(), [Fault::Corrupt]);
        assert!(!health.is_up());
    }

    #[test]
    fn what_was_asked_wrongly_is_no_fault_of_the_store() {
        let health = Health::default();
        health.note(&StoreError::ZeroByte);
        health.note(&StoreError::NotFound { what: "turn", id: "t-1".to_owned() });
        assert!(health.is_up() && health.failures().is_empty());
    }
}
