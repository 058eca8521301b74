//! Migrates the tables of a SQLite file in one transaction. A database with data is backed up before.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::timestamp::Timestamp;
use rusqlite::Connection;

use super::connection::{APPLICATION_ID, BUSY_TIMEOUT, existing_version};
use super::file::DatabaseFile;
use crate::backup::before_migration;
use crate::engine::migrations;
use crate::error::StoreError;
use crate::migrated::Migrated;

/// How long to wait for another process that backs up and migrates the same file.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(600);

/// Whether a database with data is backed up before its migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BackupBefore {
    /// Next to the database.
    Write,
    /// The file is a copy already.
    Skip,
}

/// Migrates the tables. If two processes do so at once, the second waits and finds nothing to do. Returns what was done
/// to a database that had tables.
pub(crate) fn migrate(
    connection: &mut Connection,
    place: &Arc<DatabaseFile>,
    now: Timestamp,
    backup: BackupBefore,
) -> Result<Option<Migrated>, StoreError> {
    let failed = |error: rusqlite::Error| place.error(&error);
    let found = existing_version(connection, place)?;
    if let Some(found) = found {
        // An up-to-date database needs no write lock.
        if migrations::missing(found, &place.name())?.is_empty() {
            return Ok(None);
        }
        connection.busy_timeout(MIGRATION_TIMEOUT).map_err(failed)?;
    }
    // The lock is held during the backup, so that it has all that was written before the migration.
    connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
    let mut written = None;
    let result = migrate_within(connection, place, now, backup, &mut written);
    let end = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = connection.execute_batch(end).map_err(failed);
    if let (Err(_), Ok(()), Some(backup)) = (&result, &ended, &written) {
        // The database is unchanged. A service that restarts again and again must not fill the disk with copies.
        let _ = fs::remove_file(backup);
    }
    connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    let from = result?;
    ended?;
    Ok(from.map(|from| Migrated { from, to: migrations::latest_version(), backup: written }))
}

/// Returns the version that an existing database had. The path of its backup goes to `written`.
fn migrate_within(
    connection: &mut Connection,
    place: &Arc<DatabaseFile>,
    now: Timestamp,
    backup: BackupBefore,
    written: &mut Option<PathBuf>,
) -> Result<Option<u32>, StoreError> {
    let failed = |error: rusqlite::Error| place.error(&error);
    let found = existing_version(connection, place)?;
    let missing = migrations::missing(found.unwrap_or(0), &place.name())?;
    if missing.is_empty() {
        return Ok(None);
    }
    match found {
        None => {
            connection.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
            connection.execute_batch(migrations::TABLE_OF_VERSIONS).map_err(failed)?;
        }
        Some(found) if backup == BackupBefore::Write => {
            *written = Some(before_migration::write(place, found)?);
        }
        Some(_) => {}
    }
    for migration in missing {
        for part in migration.sqlite {
            connection.execute_batch(part).map_err(failed)?;
        }
        connection.execute(migrations::RECORD, migrations::applied(migration, now)).map_err(failed)?;
    }
    Ok(found)
}
