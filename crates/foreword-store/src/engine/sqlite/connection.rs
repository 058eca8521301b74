//! Opening the file: who may read it, whether it is ours, its settings, its tables; and what its errors mean.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use foreword_core::timestamp::Timestamp;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::ready::finish;
use super::session::Session;
use crate::error::StoreError;
use crate::migrations;

/// Marks a file as ours: "Fwrd".
const APPLICATION_ID: i32 = 0x4677_7264;
/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(5);
/// Statements kept ready, for each connection.
const KEPT_STATEMENTS: usize = 128;

/// Where a database is, for its errors.
#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
}

impl Place {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// A connection that may write; the file and its folder are made if they are not there.
    pub(super) fn create(&self) -> Result<Connection, StoreError> {
        if let Some(folder) = self.path.parent() {
            make_folder(folder).map_err(|error| self.unreachable(&error))?;
        }
        make_private_file(&self.path).map_err(|error| self.unreachable(&error))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = self.connect(flags)?;
        let settings = || {
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "foreign_keys", true)?;
            // A commit that was told is on the disk, not only in the system's memory.
            connection.pragma_update(None, "synchronous", "FULL")
        };
        settings().map_err(|error| self.error(&error))?;
        Ok(connection)
    }

    /// A connection that only reads.
    pub(super) fn connect_reader(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = self.connect(flags)?;
        connection.pragma_update(None, "query_only", true).map_err(|error| self.error(&error))?;
        Ok(connection)
    }

    fn connect(&self, flags: OpenFlags) -> Result<Connection, StoreError> {
        let connection =
            Connection::open_with_flags(&self.path, flags).map_err(|error| self.error(&error))?;
        connection.busy_timeout(PATIENCE).map_err(|error| self.error(&error))?;
        connection.set_prepared_statement_cache_capacity(KEPT_STATEMENTS);
        Ok(connection)
    }

    fn unreachable(&self, error: &io::Error) -> StoreError {
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::ReadOnly { place: self.name(), reason: error.to_string() }
            }
            io::ErrorKind::StorageFull => StoreError::Full { place: self.name() },
            _ => StoreError::Unreachable { place: self.name(), reason: error.to_string() },
        }
    }

    /// What an error of SQLite means for a caller.
    pub(super) fn error(&self, error: &rusqlite::Error) -> StoreError {
        let place = self.name();
        let reason = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked { place },
            Some(ErrorCode::DiskFull) => StoreError::Full { place },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::ReadOnly { place, reason },
            Some(ErrorCode::DatabaseCorrupt) => StoreError::Corrupt { place, reason },
            Some(ErrorCode::NotADatabase) => {
                StoreError::Foreign { place, reason: "it is no SQLite file".to_owned() }
            }
            Some(ErrorCode::CannotOpen) => StoreError::Unreachable { place, reason },
            _ => StoreError::Engine { place, reason: reason.into() },
        }
    }

    /// What a caller hears whose answer can't come any more.
    pub(super) fn stopped(&self) -> StoreError {
        StoreError::Engine { place: self.name(), reason: "the storage thread has stopped".into() }
    }
}

/// Only the owner may look into the folder: what is in it is not for everybody on the machine.
fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Only the owner may read the file. SQLite gives the files beside it the same permissions.
fn make_private_file(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Brings the tables up to date. Two processes that do this at once wait for each other, and the second has nothing left
/// to do.
pub(super) fn migrate(
    connection: &mut Connection,
    place: &Arc<Place>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| place.error(&error);
    connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
    let result = migrate_within(connection, place, now);
    let end = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
    connection.execute_batch(end).map_err(failed)?;
    result
}

fn migrate_within(connection: &mut Connection, place: &Arc<Place>, now: Timestamp) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| place.error(&error);
    let tables: i64 = connection
        .query_row("SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table'", [], |row| row.get(0))
        .map_err(failed)?;
    let mark: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(failed)?;
    if tables > 0 && mark != APPLICATION_ID {
        let reason = "it has tables that Foreword did not make".to_owned();
        return Err(StoreError::Foreign { place: place.name(), reason });
    }
    if mark != APPLICATION_ID {
        connection.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    }
    let table = "CREATE TABLE IF NOT EXISTS schema_migrations (
        version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)";
    connection.execute_batch(table).map_err(failed)?;
    let mut session = Session::new(connection, place);
    let found = finish(migrations::version(&mut session))?;
    for migration in migrations::missing(found, &place.name())? {
        for part in migration.sqlite {
            session.connection.execute_batch(part).map_err(failed)?;
        }
        finish(migrations::record(&mut session, migration, now))?;
    }
    Ok(())
}
