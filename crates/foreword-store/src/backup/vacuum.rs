//! From SQLite: the engine writes a copy of one moment by itself, without gaps, while others write on.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::partial::Partial;
use crate::engine::sqlite::connection;
use crate::engine::sqlite::place::Place;
use crate::error::StoreError;
use crate::progress::Progress;

/// How often to look how far it has come.
const LOOK: Duration = Duration::from_millis(100);

/// Copies the database at `source` into a file that was just made.
pub(super) fn into(
    source: &Arc<Place>,
    partial: &Partial,
    progress: &(dyn Fn(Progress) + Send + Sync),
) -> Result<(), StoreError> {
    let reader = connection::connect(source, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let of = expected(&reader).map_err(|error| source.error(&error))?;
    let tell = || {
        let done = partial.path().metadata().map_or(0, |file| file.len());
        progress(Progress { what: "the file", done, of: of.max(done) });
    };
    tell();
    let target = Place::new(partial.path());
    let copied = thread::scope(|scope| {
        let copying = scope.spawn(move || vacuum(&reader, &target));
        while !copying.is_finished() {
            thread::park_timeout(LOOK);
            tell();
        }
        copying.join().unwrap_or_else(|_| Err(source.stopped()))
    });
    copied.map_err(|error| match error {
        // Only what stands in the database can be damaged.
        StoreError::Corrupt { reason, .. } => StoreError::Corrupt { place: source.name(), reason },
        error => error,
    })
}

fn vacuum(reader: &Connection, target: &Place) -> Result<(), StoreError> {
    let Some(path) = target.path().to_str() else {
        let reason = "the name is not UTF-8".to_owned();
        return Err(StoreError::Unreachable { place: target.name(), reason });
    };
    reader.execute("VACUUM INTO ?1", [path]).map(|_| ()).map_err(|error| target.error(&error))
}

/// About how large the copy will be.
fn expected(reader: &Connection) -> rusqlite::Result<u64> {
    let select = "SELECT (page_count - freelist_count) * page_size
                  FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
    reader.query_row(select, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}
