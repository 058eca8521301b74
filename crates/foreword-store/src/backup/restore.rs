//! Back from a file: every table, page by page, into a store that holds nothing yet, in one transaction.

use std::path::Path;
use std::sync::Arc;

use foreword_core::timestamp::Timestamp;
use rusqlite::{Connection, OpenFlags};

use super::copy::count;
use super::partial::Partial;
use super::{Listener, vacuum, verify};
use crate::changes::Change;
use crate::engine::sqlite::connection::{connect, migrate, ours};
use crate::engine::sqlite::place::Place;
use crate::engine::sqlite::ready::finish;
use crate::engine::sqlite::session::Session;
use crate::engine::{Access, Operation, Row, Sql};
use crate::error::StoreError;
use crate::migrations;
use crate::progress::Progress;
use crate::schema::{Table, schema};

/// A backup whose tables are of this program's version.
#[derive(Debug)]
pub(super) struct Source {
    place: Arc<Place>,
    /// The version it was made with.
    pub(super) version: u32,
    // Deleted afterwards.
    _copy: Option<Partial>,
}

impl Source {
    /// Looks at the file at `path`, and makes a copy of it if its tables are older. The file itself is only read.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let place = Arc::new(Place::new(path));
        path.metadata().map_err(|error| place.unreachable(&error))?;
        let mut connection = connect(&place, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let Some(version) = ours(&mut connection, &place)? else {
            return Err(StoreError::Foreign { place: place.name(), reason: "it is empty".to_owned() });
        };
        let older = !migrations::missing(version, &place.name())?.is_empty();
        verify::sound(&connection, &place)?;
        if !older {
            return Ok(Self { place, version, _copy: None });
        }
        let copy = Partial::temporary()?;
        vacuum::into(&place, &copy, &|_| {})?;
        let place = Arc::new(Place::new(copy.path()));
        let mut connection = connect(&place, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // When is of no interest: the copy does not last.
        migrate(&mut connection, &place, Timestamp::from_micros(0))?;
        Ok(Self { place, version, _copy: Some(copy) })
    }
}

/// How new rows get their numbers, where the database gives them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// One more than the highest that is there.
    ByTheRows,
    /// Out of a sequence, which has to be told.
    BySequences,
}

/// Copies everything into a store, and says how many rows.
pub(super) struct CopyIn {
    pub(super) source: Source,
    pub(super) into: String,
    pub(super) numbers: Numbers,
    pub(super) listener: Listener,
}

impl Operation for CopyIn {
    type Output = u64;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<u64, StoreError> {
        sql.unhurried().await?;
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
            done = self.table(sql, &mut reader, table, (done, of)).await?;
        }
        sql.announce(Change::Anything).await?;
        Ok(done)
    }
}

impl CopyIn {
    async fn table<S: Sql>(
        &self,
        sql: &mut S,
        reader: &mut Reader,
        table: &'static Table,
        (before, of): (u64, u64),
    ) -> Result<u64, StoreError> {
        let mut done = before;
        let mut page = reader.page(table, None)?;
        while let Some(last) = page.last().cloned() {
            let rows: Vec<_> = page.into_iter().map(|row| row.0[table.all.key..].to_vec()).collect();
            sql.insert_many(&table.insert, &rows).await?;
            done += rows.len() as u64;
            (self.listener)(Progress { what: &table.name, done, of });
            page = reader.page(table, Some(&last))?;
        }
        if let (Numbers::BySequences, Some(renumber)) = (self.numbers, &table.renumber) {
            sql.query(renumber, &[]).await?;
        }
        let (found, expected) = (count(sql, table).await?, reader.count(table)?);
        if found != expected || done - before != expected {
            let what =
                format!("`{}` has {expected} rows in the backup, and {found} were written", table.name);
            return Err(StoreError::Unreadable { what });
        }
        Ok(done)
    }
}

/// Reads the file. A page comes out of a local file in less time than writing it takes, so this may stand between two
/// waits.
struct Reader {
    connection: Connection,
    place: Arc<Place>,
}

impl Reader {
    fn open(place: &Arc<Place>) -> Result<Self, StoreError> {
        let connection = connect(place, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.execute_batch("BEGIN").map_err(|error| place.error(&error))?;
        Ok(Self { connection, place: Arc::clone(place) })
    }

    fn page(&mut self, table: &'static Table, last: Option<&Row>) -> Result<Vec<Row>, StoreError> {
        let mut session = Session::new(&mut self.connection, &self.place);
        finish(&self.place, table.all.behind(&mut session, last))
    }

    fn count(&mut self, table: &'static Table) -> Result<u64, StoreError> {
        finish(&self.place, count(&mut Session::new(&mut self.connection, &self.place), table))
    }
}
