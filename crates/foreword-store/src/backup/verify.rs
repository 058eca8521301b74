//! Verifies a backup by reading it again.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags, OptionalExtension};

use crate::engine::migrations;
use crate::engine::sqlite::connection::{connect, existing_version};
use crate::engine::sqlite::file::DatabaseFile;
use crate::error::StoreError;
use crate::schema::schema;

/// Fails unless the file at `path` passes the integrity check, has the current schema version, and holds `copied`
/// rows of each table, if given. Returns the total number of rows.
pub(super) fn backup(path: &Path, copied: Option<&[u64]>) -> Result<u64, StoreError> {
    let place = Arc::new(DatabaseFile::new(path));
    let damaged = |reason: String| Err(StoreError::Corrupt { place: place.name(), reason });
    let mut connection = connect(&place, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    if existing_version(&mut connection, &place)? != Some(migrations::latest_version()) {
        return damaged("the version of the tables is another one".to_owned());
    }
    sound(&connection, &place)?;
    let schema = schema()?;
    let mut total = 0;
    for (place_of_table, table) in schema.tables.iter().chain([&schema.versions]).enumerate() {
        let rows: i64 =
            connection.query_row(&table.count, [], |row| row.get(0)).map_err(|error| place.error(&error))?;
        let rows = rows.unsigned_abs();
        let expected = copied.and_then(|copied| copied.get(place_of_table).copied()).unwrap_or(rows);
        if rows != expected {
            return damaged(format!("`{}` has {rows} rows instead of {expected}", table.name));
        }
        total += rows;
    }
    Ok(total)
}

/// Fails unless SQLite's integrity check passes and no reference dangles.
pub(super) fn sound(connection: &Connection, place: &DatabaseFile) -> Result<(), StoreError> {
    let dangling =
        "SELECT \"table\" || ' refers to missing rows of ' || parent FROM pragma_foreign_key_check LIMIT 1";
    intact(connection, place)?;
    answers_ok(connection, dangling, place)
}

/// Fails unless SQLite's integrity check passes.
pub(super) fn intact(connection: &Connection, place: &DatabaseFile) -> Result<(), StoreError> {
    answers_ok(connection, "PRAGMA integrity_check(1)", place)
}

fn answers_ok(connection: &Connection, question: &str, place: &DatabaseFile) -> Result<(), StoreError> {
    let answer = connection.query_row(question, [], |row| row.get::<_, String>(0)).optional();
    match answer.map_err(|error| place.error(&error))? {
        Some(reason) if reason != "ok" => Err(StoreError::Corrupt { place: place.name(), reason }),
        _ => Ok(()),
    }
}
