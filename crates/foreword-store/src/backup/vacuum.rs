//! Backup from SQLite: `VACUUM INTO` writes a compact copy of one snapshot while other connections write.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::partial::Partial;
use crate::engine::sqlite::connection;
use crate::engine::sqlite::file::DatabaseFile;
use crate::error::StoreError;
use crate::progress::WorkProgress;

/// How often to report progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Copies the database at `source` into a newly created file.
pub(super) fn into(
    source: &Arc<DatabaseFile>,
    partial: &Partial,
    progress: &(dyn Fn(WorkProgress) + Send + Sync),
) -> Result<(), StoreError> {
    let reader = connection::connect(source, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let of = expected(&reader).map_err(|error| source.error(&error))?;
    let tell = || {
        let done = partial.path().metadata().map_or(0, |file| file.len());
        progress(WorkProgress { what: "the file", done, of: of.max(done) });
    };
    tell();
    let target = DatabaseFile::new(partial.path());
    let copied = thread::scope(|scope| {
        let copying = scope.spawn(move || vacuum(&reader, &target));
        while !copying.is_finished() {
            thread::park_timeout(PROGRESS_INTERVAL);
            tell();
        }
        copying.join().unwrap_or_else(|_| Err(source.stopped()))
    });
    copied.map_err(|error| match error {
        // Only the source can be damaged, not the new file.
        StoreError::Corrupt { reason, .. } => StoreError::Corrupt { place: source.name(), reason },
        error => error,
    })
}

fn vacuum(reader: &Connection, target: &DatabaseFile) -> Result<(), StoreError> {
    let Some(path) = target.path().to_str() else {
        let reason = "the name is not UTF-8".to_owned();
        return Err(StoreError::Unreachable { place: target.name(), reason });
    };
    reader.execute("VACUUM INTO ?1", [path]).map(|_| ()).map_err(|error| target.error(&error))
}

/// The estimated size of the copy in bytes.
fn expected(reader: &Connection) -> rusqlite::Result<u64> {
    let select = "SELECT (page_count - freelist_count) * page_size
                  FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
    reader.query_row(select, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}
