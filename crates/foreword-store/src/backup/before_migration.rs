//! The backup of a SQLite file before its first migration by a new version: next to the file, verified, never over an
//! existing one. The caller holds the write lock, so no other process writes the same backup.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::OpenFlags;

use super::partial::{Partial, with_ending};
use super::{Existing, vacuum, verify};
use crate::engine::sqlite::connection::{connect, existing_version};
use crate::engine::sqlite::file::DatabaseFile;
use crate::error::StoreError;

/// The ending of the backup's name after that of the database.
const ENDING: &str = concat!(".before-", env!("CARGO_PKG_VERSION"));
/// A process that is killed between the backup and the migration leaves a backup, and the next one writes another.
const MAX_BACKUPS: usize = 9;

/// Copies the database, which has schema version `found`, and returns the path of the copy.
///
/// # Errors
/// If the copy can't be written or verified. The caller must not migrate then.
pub(crate) fn write(source: &Arc<DatabaseFile>, found: u32) -> Result<PathBuf, StoreError> {
    remove_partial_files(source.path());
    let mut target = with_ending(source.path(), ENDING);
    for number in 2..=MAX_BACKUPS {
        if fs::symlink_metadata(&target).is_err() {
            break;
        }
        target = with_ending(source.path(), &format!("{ENDING}-{number}"));
    }
    copy(source, &target, found).map_err(|error| {
        let reason = match error {
            // The database itself is damaged, which needs another answer.
            StoreError::Corrupt { .. } => return error,
            StoreError::Full { .. } => format!("no room to write `{}`", target.display()),
            other => other.to_string(),
        };
        StoreError::NoBackup { place: source.name(), reason }
    })?;
    Ok(target)
}

fn copy(source: &Arc<DatabaseFile>, target: &Path, found: u32) -> Result<(), StoreError> {
    let partial = Partial::beside(target, Existing::Keep, Some(source))?;
    vacuum::into(source, &partial, &|_| {})?;
    let place = Arc::new(DatabaseFile::new(partial.path()));
    let mut connection = connect(&place, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    if existing_version(&mut connection, &place)? != Some(found) {
        let reason = "the copy has another schema version".to_owned();
        return Err(StoreError::Unreachable { place: place.name(), reason });
    }
    // Dangling references were there before, and `store check` reports them.
    verify::intact(&connection, source)?;
    drop(connection);
    partial.finish(Existing::Keep).map(|_| ())
}

/// Removes what killed processes have left.
fn remove_partial_files(database: &Path) {
    let Some(prefix) = with_ending(database, ".before-").file_name().map(ToOwned::to_owned) else { return };
    let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(entries) = fs::read_dir(folder.unwrap_or(Path::new("."))) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if name.starts_with(prefix.as_encoded_bytes()) && name.ends_with(b".partial") {
            // One that stays only uses space.
            let _ = fs::remove_file(entry.path());
        }
    }
}
