//! From Postgres: every table, page by page, as it is at one moment, into a SQLite file with the same tables.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags, params_from_iter};

use super::partial::Partial;
use super::{Existing, Listener};
use crate::engine::sqlite::connection::{connect, make_tables};
use crate::engine::sqlite::place::Place;
use crate::engine::{Access, Operation, Row, Sql};
use crate::error::StoreError;
use crate::progress::Progress;
use crate::schema::{Table, schema};

/// Copies everything. Gives the file and how many rows of each table are in it.
pub(super) struct CopyOut {
    pub(super) to: PathBuf,
    pub(super) existing: Existing,
    pub(super) listener: Listener,
}

impl Operation for CopyOut {
    type Output = (Partial, Vec<u64>);
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Self::Output, StoreError> {
        sql.unhurried().await?;
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
                (self.listener)(Progress {
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
pub(super) async fn count<S: Sql>(sql: &mut S, table: &'static Table) -> Result<u64, StoreError> {
    sql.query_optional(&table.count, &[]).await?.map_or(Ok(0), |row| row.get(0))
}

/// The file that is written. A page goes into the system's memory, which takes no longer than reading it did, so this
/// may stand between two waits; what takes long, bringing it to the disk, is done elsewhere.
struct Copy {
    connection: Connection,
    place: Arc<Place>,
}

impl Copy {
    fn new(path: &Path) -> Result<Self, StoreError> {
        let place = Arc::new(Place::new(path));
        let connection = connect(&place, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let begin = || {
            // If anything goes wrong, the whole file is thrown away.
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
