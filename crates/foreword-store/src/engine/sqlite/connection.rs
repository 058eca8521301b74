//! Opens the file: sets permissions, checks that it is a Foreword database, applies pragmas.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::file::{self, DatabaseFile};
use crate::engine::migrations::{self, MIGRATIONS};
use crate::error::StoreError;

/// SQLite's application id of our files: "Fwrd".
pub(crate) const APPLICATION_ID: i32 = 0x4677_7264;
/// How long to wait for another process that is writing.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause between two attempts where SQLite's busy timeout does not apply.
const BUSY_RETRY_INTERVAL: Duration = Duration::from_millis(10);
/// Prepared statements cached per connection.
const STATEMENT_CACHE_CAPACITY: usize = 128;
/// The size to which the write-ahead log is truncated after a checkpoint. A long read can make it grow.
const WAL_SIZE_LIMIT: i64 = 64 << 20;
/// The writer's page cache. It must hold the pages that a batch of events touches: otherwise they spill to the log
/// several times before the commit.
const PAGE_CACHE_KIB: i64 = 16 << 10;

/// Opens a read-write connection, and creates the file and its folder if missing. Never changes another program's
/// file.
pub(super) fn create(place: &Arc<DatabaseFile>) -> Result<Connection, StoreError> {
    make_folder(place.path()).and_then(|()| make_private_file(place.path())).map_err(|error| {
        let reached = place.path().parent().is_none_or(Path::is_dir);
        let nearest = place.path().ancestors().find(|path| path.exists()).map(DatabaseFile::new);
        // The owner of the folder helps more than the missing file.
        if reached {
            place.unreachable(&error)
        } else {
            nearest.as_ref().unwrap_or(place).unreachable(&error)
        }
    })?;
    let mut connection = connect(place, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    existing_version(&mut connection, place)?;
    let failed = |error: rusqlite::Error| place.error(&error);
    retry_while_busy(|| connection.pragma_update(None, "journal_mode", "WAL")).map_err(failed)?;
    let settings = || {
        connection.pragma_update(None, "foreign_keys", true)?;
        // A commit must survive a power loss.
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "fullfsync", true)?;
        connection.pragma_update(None, "cache_size", -PAGE_CACHE_KIB)?;
        // Keep the savepoint journal in memory; in a file it would be written once more.
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update_and_check(None, "journal_size_limit", WAL_SIZE_LIMIT, |_| Ok(()))
    };
    settings().map_err(failed)?;
    Ok(connection)
}

/// Opens a read-only connection to a file that [`create`] has opened.
pub(super) fn connect_reader(place: &DatabaseFile) -> Result<Connection, StoreError> {
    let connection = connect(place, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "query_only", true).map_err(|error| place.error(&error))?;
    Ok(connection)
}

/// Opens a connection for one thread, with a busy timeout.
pub(crate) fn connect(place: &DatabaseFile, access: OpenFlags) -> Result<Connection, StoreError> {
    let failed = |error: rusqlite::Error| place.error(&error);
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(place.path(), flags).map_err(failed)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    // Otherwise SQLite plans a cached statement again for each bound value, which takes longer than running it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE_CAPACITY);
    Ok(connection)
}

/// Retries while other processes lock the file: SQLite skips the busy timeout where waiting could deadlock.
fn retry_while_busy(mut attempt: impl FnMut() -> rusqlite::Result<()>) -> rusqlite::Result<()> {
    let attempts = BUSY_TIMEOUT.as_millis() / BUSY_RETRY_INTERVAL.as_millis();
    for _ in 0..attempts {
        match attempt() {
            Err(error) if file::is_busy(&error) => thread::sleep(BUSY_RETRY_INTERVAL),
            result => return result,
        }
    }
    attempt()
}

/// The schema version; `None` if the database is empty.
///
/// # Errors
/// If another program has created the tables.
pub(crate) fn existing_version(
    connection: &mut Connection,
    place: &Arc<DatabaseFile>,
) -> Result<Option<u32>, StoreError> {
    let failed = |error: rusqlite::Error| place.error(&error);
    let things: i64 =
        connection.query_row("SELECT COUNT(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(failed)?;
    let mark: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(failed)?;
    match (mark, things) {
        (0, 0) => Ok(None),
        (APPLICATION_ID, _) => {
            let version = connection.query_row(migrations::VERSION, [], |row| row.get(0)).map_err(failed)?;
            Ok(Some(version))
        }
        _ => {
            let reason = "it was made by another program".to_owned();
            Err(StoreError::Foreign { place: place.name(), reason })
        }
    }
}

/// Creates the newest tables in an empty database. Leaves all of them empty, including the one of versions.
pub(crate) fn make_tables(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.execute_batch(migrations::TABLE_OF_VERSIONS)?;
    let mut parts = MIGRATIONS.iter().flat_map(|migration| migration.sqlite);
    parts.try_for_each(|part| connection.execute_batch(part))
}

/// Creates the folder with access for the owner only.
fn make_folder(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    folder.parent().map_or(Ok(()), sync_folder)
}

/// Creates the file with access for the owner only. SQLite gives its companion files the same permissions.
fn make_private_file(path: &Path) -> io::Result<()> {
    match private_file(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
        Ok(_) => path.parent().map_or(Ok(()), sync_folder),
    }
}

/// Creates a file that only its owner can read.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Syncs a directory, so that its entries survive a power loss.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    Ok(())
}
