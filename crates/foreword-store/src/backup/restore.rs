//! Restore from a backup file: copies every table page by page into an empty store, in one transaction.

use std::path::Path;
use std::sync::Arc;

use foreword_core::timestamp::Timestamp;
use rusqlite::{Connection, OpenFlags};

use super::copy::count;
use super::partial::Partial;
use super::{Listener, vacuum, verify};
use crate::changes::StoreChange;
use crate::engine::migrations;
use crate::engine::sqlite::connection::{connect, existing_version};
use crate::engine::sqlite::file::DatabaseFile;
use crate::engine::sqlite::migrate::{BackupBefore, migrate};
use crate::engine::sqlite::poll_once::poll_once;
use crate::engine::sqlite::session::Session;
use crate::engine::{Access, Operation, Row, Transaction};
use crate::error::StoreError;
use crate::progress::WorkProgress;
use crate::schema::{Table, schema};

/// A backup with the current schema version.
#[derive(Debug)]
pub(super) struct Source {
    place: Arc<DatabaseFile>,
    /// The schema version it was made with.
    pub(super) version: u32,
    // Dropping it deletes the migrated copy.
    _copy: Option<Partial>,
}

impl Source {
    /// Opens the file at `path` read-only. Migrates a copy if its schema is older.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let place = Arc::new(DatabaseFile::new(path));
        path.metadata().map_err(|error| place.unreachable(&error))?;
        let mut connection = connect(&place, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let Some(version) = existing_version(&mut connection, &place)? else {
            return Err(StoreError::Foreign { place: place.name(), reason: "it is empty".to_owned() });
        };
        let older = !migrations::missing(version, &place.name())?.is_empty();
        verify::sound(&connection, &place)?;
        if !older {
            return Ok(Self { place, version, _copy: None });
        }
        let copy = Partial::temporary()?;
        vacuum::into(&place, &copy, &|_| {})?;
        let place = Arc::new(DatabaseFile::new(copy.path()));
        let mut connection = connect(&place, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // The time does not matter, since the copy is deleted.
        migrate(&mut connection, &place, Timestamp::from_micros(0), BackupBefore::Skip)?;
        Ok(Self { place, version, _copy: Some(copy) })
    }
}

/// How the database assigns ids to new rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// One more than the highest existing id.
    ByTheRows,
    /// From a sequence, which must be advanced after the restore.
    BySequences,
}

/// Copies all rows into a store. Returns how many.
pub(super) struct CopyIn {
    pub(super) source: Source,
    pub(super) into: String,
    pub(super) numbers: Numbers,
    pub(super) listener: Listener,
}

impl Operation for CopyIn {
    type Output = u64;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<u64, StoreError> {
        sql.allow_long_statements().await?;
        sql.lock("restore").await?;
        let schema = schema()?;
        for table in &schema.tables {
            if count(sql, table).await? > 0 {
                return Err(StoreError::NotEmpty { place: self.into.clone(), table: &table.name });
            }
        }
        let mut reader = Reader::open(&self.source.place)?;
        let mut of = 0;
        for table in &schema.tables {
            of += reader.count(table)?;
        }
        let mut done = 0;
        for table in &schema.tables {
            done = self.table(sql, &mut reader, table, WorkProgress { what: &table.name, done, of }).await?;
        }
        sql.announce(StoreChange::Anything);
        Ok(done)
    }
}

impl CopyIn {
    async fn table(
        &self,
        sql: &mut Transaction<'_>,
        reader: &mut Reader,
        table: &'static Table,
        start: WorkProgress,
    ) -> Result<u64, StoreError> {
        let mut done = start.done;
        let mut page = reader.page(table, None)?;
        while let Some(last) = page.last().cloned() {
            let rows: Vec<_> = page.into_iter().map(|row| row.0[table.all.key..].to_vec()).collect();
            sql.insert_many(&table.insert, &rows).await?;
            done += rows.len() as u64;
            (self.listener)(WorkProgress { done, ..start });
            page = reader.page(table, Some(&last))?;
        }
        if let (Numbers::BySequences, Some(renumber)) = (self.numbers, &table.renumber) {
            sql.query(renumber, &[]).await?;
        }
        let (found, expected) = (count(sql, table).await?, reader.count(table)?);
        if found != expected || done - start.done != expected {
            let what =
                format!("`{}` has {expected} rows in the backup, and {found} were written", table.name);
            return Err(StoreError::Unreadable { what });
        }
        Ok(done)
    }
}

/// Reads the backup file. Reading a page of a local file is faster than writing it, so it may run on an async thread.
struct Reader {
    connection: Connection,
    place: Arc<DatabaseFile>,
}

impl Reader {
    fn open(place: &Arc<DatabaseFile>) -> Result<Self, StoreError> {
        let connection = connect(place, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.execute_batch("BEGIN").map_err(|error| place.error(&error))?;
        Ok(Self { connection, place: Arc::clone(place) })
    }

    fn page(&mut self, table: &'static Table, last: Option<&Row>) -> Result<Vec<Row>, StoreError> {
        self.read(async |sql| table.all.behind(sql, last).await)
    }

    fn count(&mut self, table: &'static Table) -> Result<u64, StoreError> {
        self.read(async |sql| count(sql, table).await)
    }

    fn read<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let (connection, place) = (&mut self.connection, &self.place);
        let session = Session { connection, place, announced: &mut Vec::new() };
        poll_once(place, work(&mut Transaction::Sqlite(session)))
    }
}
