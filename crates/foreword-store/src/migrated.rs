//! What opening the store did to the tables of an older Foreword.

use std::path::PathBuf;

/// A migration of tables that an older Foreword has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    /// The schema version before.
    pub from: u32,
    /// The schema version now.
    pub to: u32,
    /// The backup of the database before the migration; `None` on Postgres.
    pub backup: Option<PathBuf>,
}
