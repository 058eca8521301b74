//! Backup from Postgres: copies every table page by page, from one snapshot, into a SQLite file with the same tables.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags, params_from_iter};

use super::partial::Partial;
use super::{Existing, Listener};
use crate::engine::sqlite::connection::{connect, make_tables};
use crate::engine::sqlite::file::DatabaseFile;
use crate::engine::{Access, Operation, Row, Transaction};
use crate::error::StoreError;
use crate::progress::WorkProgress;
use crate::schema::{Table, schema};

/// Copies all tables. Returns the file and the number of rows of each table.
pub(super) struct CopyOut {
    pub(super) to: PathBuf,
    pub(super) existing: Existing,
    pub(super) listener: Listener,
}

impl Operation for CopyOut {
    type Output = (Partial, Vec<u64>);
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Self::Output, StoreError> {
        sql.allow_long_statements().await?;
        let partial = Partial::beside(&self.to, self.existing, None)?;
        let mut copy = Copy::new(partial.path())?;
        let schema = schema()?;
        let mut expected = 0;
        for table in &schema.tables {
            expected += count(sql, table).await?;
        }
        let mut counts = Vec::new();
        let mut done = 0;
        for table in schema.tables.iter().chain([&schema.versions]) {
            let mut rows = 0;
            let mut page = table.all.behind(sql, None).await?;
            while let Some(last) = page.last() {
                copy.insert(table, &page)?;
                rows += page.len() as u64;
                (self.listener)(WorkProgress {
                    what: &table.name,
                    done: done + rows,
                    of: expected.max(done + rows),
                });
                page = table.all.behind(sql, Some(last)).await?;
            }
            counts.push(rows);
            done += rows;
        }
        copy.finish()?;
        Ok((partial, counts))
    }
}

/// How many rows a table has.
pub(super) async fn count(sql: &mut Transaction<'_>, table: &'static Table) -> Result<u64, StoreError> {
    sql.query_optional(&table.count, &[]).await?.map_or(Ok(0), |row| row.get(0))
}

/// The SQLite file being written. Inserting a page only writes to the page cache and is as fast as reading it, so it
/// may run on an async thread. The slow part, syncing to disk, runs elsewhere.
struct Copy {
    connection: Connection,
    place: Arc<DatabaseFile>,
}

impl Copy {
    fn new(path: &Path) -> Result<Self, StoreError> {
        let place = Arc::new(DatabaseFile::new(path));
        let connection = connect(&place, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let begin = || {
            // The whole file is deleted on any error.
            connection.pragma_update(None, "journal_mode", "OFF")?;
            connection.pragma_update(None, "synchronous", "OFF")?;
            connection.pragma_update(None, "foreign_keys", false)?;
            make_tables(&connection)?;
            connection.execute_batch("BEGIN")
        };
        begin().map_err(|error| place.error(&error))?;
        Ok(Self { connection, place })
    }

    fn insert(&mut self, table: &Table, page: &[Row]) -> Result<(), StoreError> {
        let marks: Vec<String> = (1..=table.columns.len()).map(|number| format!("?{number}")).collect();
        let sql = format!("{} VALUES ({})", table.insert, marks.join(", "));
        let run = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            page.iter()
                .try_for_each(|row| statement.execute(params_from_iter(&row.0[table.all.key..])).map(|_| ()))
        };
        run().map_err(|error| self.place.error(&error))
    }

    fn finish(self) -> Result<(), StoreError> {
        self.connection.execute_batch("COMMIT").map_err(|error| self.place.error(&error))
    }
}
