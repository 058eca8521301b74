//! The tables, version by version. A migration is never edited once it has been released: a change is a new one.

use foreword_core::timestamp::Timestamp;

use crate::engine::{Row, Sql, values};
use crate::error::StoreError;

/// One step from a version of the schema to the next, in the words of each engine.
pub(crate) struct Migration {
    pub(crate) version: u32,
    pub(crate) name: &'static str,
    pub(crate) sqlite: &'static [&'static str],
    pub(crate) postgres: &'static [&'static str],
}

/// A migration out of a folder: its parts are there once for each engine, under the same names.
macro_rules! migration {
    ($version:literal, $name:literal, $folder:literal, [$($part:literal),* $(,)?]) => {
        Migration {
            version: $version,
            name: $name,
            sqlite: &[$(include_str!(concat!("../migrations/", $folder, "/sqlite/", $part, ".sql"))),*],
            postgres: &[$(include_str!(concat!("../migrations/", $folder, "/postgres/", $part, ".sql"))),*],
        }
    };
}

/// All of them, in order.
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

/// The table that says which migrations were made, in SQLite's words.
pub(crate) const TABLE_OF_VERSIONS: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)";

/// The version this program writes.
pub(crate) fn known() -> u32 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

/// The migrations a database at version `found` still needs.
///
/// # Errors
/// If it is ahead of this program.
pub(crate) fn missing(found: u32, place: &str) -> Result<&'static [Migration], StoreError> {
    if found > known() {
        return Err(StoreError::NewerSchema { place: place.to_owned(), found, known: known() });
    }
    let done = MIGRATIONS.iter().take_while(|migration| migration.version <= found).count();
    Ok(&MIGRATIONS[done..])
}

/// The version of a database whose `schema_migrations` table is there.
pub(crate) async fn version<S: Sql>(sql: &mut S) -> Result<u32, StoreError> {
    let row = sql.query_optional("SELECT MAX(version) FROM schema_migrations", &[]).await?;
    Ok(row.map_or(Ok(None), |row: Row| row.get::<Option<u32>>(0))?.unwrap_or(0))
}

/// Notes that a migration was made.
pub(crate) async fn record<S: Sql>(
    sql: &mut S,
    migration: &Migration,
    now: Timestamp,
) -> Result<(), StoreError> {
    let insert = "INSERT INTO schema_migrations (version, name, applied_at) VALUES (?1, ?2, ?3)";
    sql.execute(insert, values![migration.version, migration.name, now]).await?;
    Ok(())
}
