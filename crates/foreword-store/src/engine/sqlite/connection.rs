//! Opening the file: who may read it, whether it is ours, its settings, its tables.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use foreword_core::timestamp::Timestamp;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::place::{self, Place};
use super::ready::finish;
use super::session::Session;
use crate::error::StoreError;
use crate::migrations::{self, MIGRATIONS};

/// Marks a file as ours: "Fwrd".
pub(crate) const APPLICATION_ID: i32 = 0x4677_7264;
/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long between two attempts, where SQLite does not wait by itself.
const PAUSE: Duration = Duration::from_millis(10);
/// Statements kept ready, for each connection.
const KEPT_STATEMENTS: usize = 128;
/// How much of the log's file is kept after it was emptied; a long read can make it grow.
const KEPT_LOG_BYTES: i64 = 64 << 20;
/// How much of the file the writing connection keeps in memory. What a batch of events touches has to fit: otherwise its
/// pages go to the log and come back several times before the commit.
const KEPT_KIBIBYTES: i64 = 16 << 10;

/// A connection that may write; the file and its folder are made if they are not there. Somebody else's file is left
/// exactly as it is.
pub(super) fn create(place: &Arc<Place>) -> Result<Connection, StoreError> {
    make_folder(place.path()).and_then(|()| make_private_file(place.path())).map_err(|error| {
        let reached = place.path().parent().is_none_or(Path::is_dir);
        let nearest = place.path().ancestors().find(|path| path.exists()).map(Place::new);
        // Whose folder it is that something can't be made in is what helps.
        if reached {
            place.unreachable(&error)
        } else {
            nearest.as_ref().unwrap_or(place).unreachable(&error)
        }
    })?;
    let mut connection = connect(place, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    ours(&mut connection, place)?;
    let failed = |error: rusqlite::Error| place.error(&error);
    patiently(|| connection.pragma_update(None, "journal_mode", "WAL")).map_err(failed)?;
    let settings = || {
        connection.pragma_update(None, "foreign_keys", true)?;
        // A commit that was told is on the disk, not only in the system's memory, nor only in the disk's.
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "fullfsync", true)?;
        connection.pragma_update(None, "cache_size", -KEPT_KIBIBYTES)?;
        // What a job has changed is remembered in case it is undone; in a file, that would be written once more.
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update_and_check(None, "journal_size_limit", KEPT_LOG_BYTES, |_| Ok(()))
    };
    settings().map_err(failed)?;
    Ok(connection)
}

/// A connection that only reads, to a file that [`create`] has opened.
pub(super) fn connect_reader(place: &Place) -> Result<Connection, StoreError> {
    let connection = connect(place, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "query_only", true).map_err(|error| place.error(&error))?;
    Ok(connection)
}

/// A connection of one thread, which waits a while for others.
pub(crate) fn connect(place: &Place, access: OpenFlags) -> Result<Connection, StoreError> {
    let failed = |error: rusqlite::Error| place.error(&error);
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(place.path(), flags).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    // Otherwise a statement that is kept ready is planned anew for each value it is given, which takes longer than running
    // it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(KEPT_STATEMENTS);
    Ok(connection)
}

/// Tries again while others hold the file: SQLite does not wait by itself where two could wait for each other.
fn patiently(mut attempt: impl FnMut() -> rusqlite::Result<()>) -> rusqlite::Result<()> {
    let attempts = PATIENCE.as_millis() / PAUSE.as_millis();
    for _ in 0..attempts {
        match attempt() {
            Err(error) if place::is_busy(&error) => thread::sleep(PAUSE),
            result => return result,
        }
    }
    attempt()
}

/// The version of the tables, if there are any.
///
/// # Errors
/// If there are and we did not make them.
pub(crate) fn ours(connection: &mut Connection, place: &Arc<Place>) -> Result<Option<u32>, StoreError> {
    let failed = |error: rusqlite::Error| place.error(&error);
    let things: i64 =
        connection.query_row("SELECT COUNT(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(failed)?;
    let mark: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(failed)?;
    match (mark, things) {
        (0, 0) => Ok(None),
        (APPLICATION_ID, _) => {
            finish(place, migrations::version(&mut Session::new(connection, place))).map(Some)
        }
        _ => {
            let reason = "it was made by another program".to_owned();
            Err(StoreError::Foreign { place: place.name(), reason })
        }
    }
}

/// Brings the tables up to date. Two processes that do this at once wait for each other, and the second has nothing left
/// to do.
pub(crate) fn migrate(
    connection: &mut Connection,
    place: &Arc<Place>,
    now: Timestamp,
) -> Result<(), StoreError> {
    // Whoever has nothing to do need not wait for those who write.
    if let Some(found) = ours(connection, place)?
        && migrations::missing(found, &place.name())?.is_empty()
    {
        return Ok(());
    }
    let failed = |error: rusqlite::Error| place.error(&error);
    connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
    let result = migrate_within(connection, place, now);
    let end = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = connection.execute_batch(end).map_err(failed);
    result.and(ended)
}

fn migrate_within(connection: &mut Connection, place: &Arc<Place>, now: Timestamp) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| place.error(&error);
    let found = ours(connection, place)?;
    if found.is_none() {
        connection.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
        connection.execute_batch(migrations::TABLE_OF_VERSIONS).map_err(failed)?;
    }
    for migration in migrations::missing(found.unwrap_or(0), &place.name())? {
        for part in migration.sqlite {
            connection.execute_batch(part).map_err(failed)?;
        }
        let mut session = Session::new(connection, place);
        finish(place, migrations::record(&mut session, migration, now))?;
    }
    Ok(())
}

/// Makes the tables of the newest version in an empty database, and fills none: not even the one of versions.
pub(crate) fn make_tables(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.execute_batch(migrations::TABLE_OF_VERSIONS)?;
    let mut parts = MIGRATIONS.iter().flat_map(|migration| migration.sqlite);
    parts.try_for_each(|part| connection.execute_batch(part))
}

/// Only the owner may look into the folder: what is in it is not for everybody on the machine.
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

/// Only the owner may read the file. SQLite gives the files beside it the same permissions.
fn make_private_file(path: &Path) -> io::Result<()> {
    match private_file(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
        Ok(_) => path.parent().map_or(Ok(()), sync_folder),
    }
}

/// A new file that only its owner may read.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes sure that the names in a folder outlast a loss of power.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    Ok(())
}
