//! Reads a backup again: a copy that can't be read is none.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags, OptionalExtension};

use crate::engine::sqlite::connection::{connect, ours};
use crate::engine::sqlite::place::Place;
use crate::error::StoreError;
use crate::migrations;
use crate::schema::schema;

/// Fails unless the file at `path` is sound, of this program's version, and holds `copied` rows of each table, where
/// that is known. Gives the number of rows.
pub(super) fn backup(path: &Path, copied: Option<&[u64]>) -> Result<u64, StoreError> {
    let place = Arc::new(Place::new(path));
    let damaged = |reason: String| Err(StoreError::Corrupt { place: place.name(), reason });
    let mut connection = connect(&place, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    if ours(&mut connection, &place)? != Some(migrations::known()) {
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

/// Fails unless SQLite finds the file sound.
pub(super) fn sound(connection: &Connection, place: &Place) -> Result<(), StoreError> {
    let dangling =
        "SELECT \"table\" || ' refers to missing rows of ' || parent FROM pragma_foreign_key_check LIMIT 1";
    for question in ["PRAGMA integrity_check(1)", dangling] {
        let answer = connection.query_row(question, [], |row| row.get::<_, String>(0)).optional();
        match answer.map_err(|error| place.error(&error))? {
            Some(reason) if reason != "ok" => {
                return Err(StoreError::Corrupt { place: place.name(), reason });
            }
            _ => {}
        }
    }
    Ok(())
}
