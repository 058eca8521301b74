//! The schema migrations. A released migration is never edited; add a new one.

use foreword_core::timestamp::Timestamp;

use super::{Row, Value};
use crate::error::StoreError;

/// A migration, in the SQL of each engine.
pub(crate) struct Migration {
    pub(crate) version: u32,
    pub(crate) name: &'static str,
    pub(crate) sqlite: &'static [&'static str],
    pub(crate) postgres: &'static [&'static str],
}

/// A migration from a folder with the same file names for each engine.
macro_rules! migration {
    ($version:literal, $name:literal, $folder:literal, [$($part:literal),* $(,)?]) => {
        Migration {
            version: $version,
            name: $name,
            sqlite: &[$(include_str!(concat!("../../migrations/", $folder, "/sqlite/", $part, ".sql"))),*],
            postgres: &[$(include_str!(concat!("../../migrations/", $folder, "/postgres/", $part, ".sql"))),*],
        }
    };
}

/// All migrations, in order.
pub(crate) const MIGRATIONS: &[Migration] = &[
    migration!(
        1,
        "first",
        "0001_first",
        [
            "templates",
            "conversations",
            "turns",
            "layers",
            "senders",
            "events",
            "observations",
            "schedules",
            "tokens",
            "workflow_runs",
        ]
    ),
    migration!(2, "life", "0002_life", ["inbox", "schedules", "workflow_runs", "conversations"]),
    migration!(3, "observe", "0003_observe", ["events", "requests"]),
    migration!(4, "server", "0004_server", ["tokens", "spending", "streams", "deliveries", "proxied"]),
    migration!(5, "page", "0005_page", ["turns", "nodes"]),
    migration!(
        6,
        "settings_and_sources",
        "0006_settings_and_sources",
        ["conversation_settings", "source_versions"]
    ),
];

/// The table of applied migrations, in SQLite's SQL.
pub(crate) const TABLE_OF_VERSIONS: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)";

/// The schema version of this program.
pub(crate) fn latest_version() -> u32 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

/// The migrations that a database at version `found` needs.
///
/// # Errors
/// If the database is newer than this program.
pub(crate) fn missing(found: u32, place: &str) -> Result<&'static [Migration], StoreError> {
    if found > latest_version() {
        return Err(StoreError::NewerSchema { place: place.to_owned(), found, known: latest_version() });
    }
    let done = MIGRATIONS.iter().take_while(|migration| migration.version <= found).count();
    Ok(&MIGRATIONS[done..])
}

/// Reads the schema version of a database that has a `schema_migrations` table.
pub(crate) const VERSION: &str = "SELECT COALESCE(MAX(version), 0) FROM schema_migrations";

/// Records that a migration was applied.
pub(crate) const RECORD: &str =
    "INSERT INTO schema_migrations (version, name, applied_at) VALUES (?1, ?2, ?3)";

/// The version in the result of [`VERSION`].
pub(crate) fn version(row: Option<Row>) -> Result<u32, StoreError> {
    row.map_or(Ok(0), |row| row.get(0))
}

/// The parameters of [`RECORD`].
pub(crate) fn applied(migration: &Migration, now: Timestamp) -> [Value; 3] {
    [migration.version.into(), migration.name.into(), now.into()]
}
